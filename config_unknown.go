package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// approving are parts of names that would let something else than a person
// approve domains, and approvingWords such names as a whole. Keys that exist are
// not held against them.
var (
	approving      = []string{"allow", "approv", "domain", "whitelist", "skip", "consent", "no_prompt", "noprompt", "unattended", "auto_accept", "auto_yes", "assume_yes", "bypass", "trust"}
	approvingWords = []string{"hosts", "sites", "origins", "patterns", "urls", "yes", "y", "auto", "permit", "grant"}
)

// exempt are the settings whose names sound like approving. They have no effect
// on MCP sessions.
var exempt = []string{"probe.domains"}

// preApproves reports whether a key, variable or flag is meant to approve domains
// without a person.
func preApproves(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	for _, known := range exempt {
		if name == known || distance(name, known) <= 2 || distance(name, strings.ReplaceAll(known, ".", "_")) <= 2 {
			return false // also a misspelling of it, which is answered by the right spelling
		}
	}
	if slices.ContainsFunc(approving, func(part string) bool { return strings.Contains(name, part) }) {
		return true
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '_' })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(approvingWords, word) })
}

// errPreApproval names the key and the remedy. No wording of it offers a way
// around the person.
func errPreApproval(name string) error {
	return fmt.Errorf("%s: there is no setting that approves domains: a person does, in the browser, in each session; remove it, and let the agent call browser_set_allowed_domains", shown(name))
}

// unknown explains a key of the file that does not exist.
func (s *settings) unknown(key string) error {
	for _, known := range s.names() {
		if strings.HasPrefix(key, known+".") {
			return fmt.Errorf("%s must not be an object; its default is %s", known, text(s.keys[known]))
		}
	}
	if s.group(key) {
		return fmt.Errorf("%s must be an object of settings", key)
	}
	return explain(key, s.names())
}

// group reports whether settings are under this key.
func (s *settings) group(key string) bool {
	return slices.ContainsFunc(s.names(), func(known string) bool { return strings.HasPrefix(known, key+".") })
}

// explain says of a name that does not exist what may have been meant, among
// names of the same form.
func explain(name string, known []string) error {
	if preApproves(strings.TrimPrefix(strings.TrimPrefix(name, "SALLYPORT_"), "--")) {
		return errPreApproval(name)
	}
	nearest, best := "", 4
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < best {
			nearest, best = candidate, d
		}
	}
	if nearest != "" {
		return fmt.Errorf("%s is no setting; did you mean %s?", shown(name), nearest)
	}
	return fmt.Errorf("%s is no setting; sallyport config example prints them all", shown(name))
}

// explainFlag makes a sentence of pflag's errors.
func (s *settings) explainFlag(err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	name := "--" + missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		name = "-" + missing.GetSpecifiedName()
		if preApproves(missing.GetSpecifiedName()) {
			return errPreApproval(name)
		}
		return fmt.Errorf("%s is no flag", name)
	}
	var known []string
	s.flags.VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return explain(name, known)
}

// shown quotes a name that holds more than the letters of a setting.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return strconv.Quote(name)
	}
	return name
}

// distance counts the single changes between two short names.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64 // no name of ours
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
