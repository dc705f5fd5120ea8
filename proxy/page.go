package proxy

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"net/http"
	"strconv"
	"strings"

	"sallyport/gate"
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page is an answer of the proxy's own.
type page struct {
	Status int
	Title  string
	Text   string
	URL    string // shown redacted; "" shows none
	Code   string // Chromium's name of the failure; "" shows none
	Reload bool   // tries again by itself
}

// page renders for a person, or as JSON for a program that asks for it.
func (p *Proxy) page(r *http.Request, content page) *http.Response {
	if content.URL != "" {
		content.URL = gate.Redact(content.URL)
	}
	var body bytes.Buffer
	kind := "text/html; charset=utf-8"
	if accept := r.Header.Get("Accept"); strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html") {
		kind = "application/json"
		_ = json.NewEncoder(&body).Encode(map[string]any{"error": content.Title, "detail": content.Text, "url": content.URL, "code": content.Code})
	} else if err := pageTemplate.Execute(&body, content); err != nil {
		p.log.Error("rendering a page of the proxy's own", "error", err)
	}
	return answerWith(r, content.Status, kind, body.Bytes())
}

func (p *Proxy) failurePage(r *http.Request, target gate.Target, f *failure) *http.Response {
	title := "This page can't be opened"
	if f.refused {
		title = "A private address"
	}
	return p.page(r, page{Status: f.status, Title: title, Text: sentence(f.detail), URL: target.URL(), Code: f.code})
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// noContent makes Chromium keep the document that is there.
func noContent(r *http.Request) *http.Response {
	return answerWith(r, http.StatusNoContent, "", nil)
}

func answerWith(r *http.Request, status int, kind string, body []byte) *http.Response {
	h := http.Header{"Cache-Control": {"no-store"}}
	response := &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Request: r, Body: http.NoBody,
	}
	if status == http.StatusNoContent {
		return response
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	response.ContentLength = int64(len(body))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}
