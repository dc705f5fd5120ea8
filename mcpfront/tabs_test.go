package mcpfront_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
)

func TestASessionWithoutATabGetsOneAndNoMore(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for id := range 8 { // at once
		f.send(call(id, "browser_tab_list", "{}"))
	}
	for range 8 {
		assert.Len(t, f.content(f.next())["tabs"], 1)
	}
	blank := f.rows()[0]
	assert.Equal(t, map[string]any{"tab_id": blank["tab_id"], "title": "", "url": "about:blank", "active": true,
		"owner": "session", "lease": "held", "covered": false}, blank)
	f.ledger.GiveToPerson(ledger.TabID(blank["tab_id"].(string)))
	assert.Len(t, f.rows(), 2, "a tab that the person took is no longer its own")
}

func TestTheActiveTabIsTheOneUsedLast(t *testing.T) {
	t.Parallel()
	f, first := navigable(t)
	second := f.content(f.do("browser_tab_new", "{}"))["tab_id"].(string)
	popup := string(f.ledger.AddTab(f.session(), "popup"))
	active := func() string {
		t.Helper()
		found := ""
		for _, row := range f.rows() {
			if row["active"] == true {
				require.Empty(t, found)
				found = row["tab_id"].(string)
			}
		}
		return found
	}
	assert.Equal(t, second, active())
	f.content(f.do("browser_navigate", to(first, "https://a.test/")))
	assert.Equal(t, first, active())
	f.content(f.do("browser_tab_close", `{"tab_id":"`+first+`"}`))
	assert.Equal(t, second, active())
	f.content(f.do("browser_tab_close", `{"tab_id":"`+second+`"}`))
	assert.Equal(t, popup, active())
	f.refused(f.do("browser_tab_close", `{"tab_id":"`+second+`"}`), -32602, "unknown tab_id")
}

func TestATabIsShownWhereTheListCoversIt(t *testing.T) {
	t.Parallel()
	f, own := navigable(t)
	for url, covered := range map[string]bool{
		"https://a.test/x": true, "http://a.test:8080/": true, "https://b.test/": false, "about:blank": false,
		"chrome://settings/": false, "view-source:https://a.test/": false, "data:text/html,a.test": false, "": false,
	} {
		person := string(f.ledger.AddTab("", "person"))
		f.ledger.Describe(ledger.TabID(person), url, "title")
		f.ledger.NoteDenial(ledger.Denial{Tab: ledger.TabID(person), Host: "c.test"})
		row := f.row(person)
		assert.Equal(t, covered, row["covered"], url)
		assert.Equal(t, "user", row["lease"])
		assert.NotContains(t, row, "last_denied", "of its own tabs only")
		if covered {
			assert.Equal(t, url, row["url"])
			assert.Equal(t, "title", row["title"])
		} else {
			assert.Nil(t, row["url"], url)
			assert.Nil(t, row["title"], url)
		}
	}
	at, err := gate.Parse("https://a.test/x")
	require.NoError(t, err)
	f.ledger.Describe(ledger.TabID(own), at.URL(), "covered")
	f.ledger.Shown(ledger.TabID(own), at, true)
	assert.Equal(t, at.URL(), f.row(own)["url"], "the person's document, but covered")
}
