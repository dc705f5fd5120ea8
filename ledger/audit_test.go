package ledger_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
)

const (
	wait = 5 * time.Second
	tick = 5 * time.Millisecond
)

func openAudit(t *testing.T, c ledger.AuditConfig) *ledger.Audit {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "audit.jsonl")
	}
	a, err := ledger.OpenAudit(c)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func records(t *testing.T, path string) []ledger.Record {
	t.Helper()
	var all []ledger.Record
	require.NoError(t, ledger.ReadAudit(path, func(r ledger.Record) error { all = append(all, r); return nil }))
	return all
}

func events(all []ledger.Record) string {
	var names []string
	for _, r := range all {
		names = append(names, r.Event)
	}
	return strings.Join(names, " ")
}

func TestTheAuditLogTellsASessionFromBeginningToEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit := openAudit(t, ledger.AuditConfig{Path: path})
	l := ledger.New(ledger.Config{Audit: audit})
	s := l.BeginSession("client", nil)
	l.Asked(s, []string{"good.test"}, nil)
	l.Answered(s, nil)
	tab := l.AddTab(s, "T")
	_, err := l.Lease(s, tab, 0)
	require.NoError(t, err)
	_, err = l.Lease(s, tab, 0)
	require.NoError(t, err, "a renewal is no event")
	nav := l.Open(tab, gate.Agent)
	at := target(t, "https://good.test/a?secret=1#part")
	hop := l.AddHop(nav, at)
	l.Witness(hop, ledger.Fetch, ledger.Evidence{Allowed: true, Rule: gate.RulePattern})
	l.Witness(hop, ledger.Proxy, ledger.Evidence{Allowed: true, Rule: gate.RulePattern, Status: 200})
	l.Settle(t.Context(), nav, ledger.Ending{Committed: at})
	l.NoteDenial(ledger.Denial{Tab: tab, URL: "https://evil.test/?q=2", Host: "evil.test", Initiator: gate.Page, Rule: gate.RuleNotCovered})
	l.NoteStray(ledger.Wire{Method: "GET", Target: at})
	l.AddTab("", "of the person's")
	l.RemoveTab(tab)
	l.EndSession(s)
	l.EndSession(s)
	audit.Close()

	all := records(t, path)
	assert.Equal(t, "started session asked answered tab lease navigation refused stray tab_gone session_ended ended", events(all))
	for i, r := range all {
		assert.EqualValues(t, i+1, r.Seq)
	}
	verdict := all[6]
	assert.Equal(t, ledger.Allowed, verdict.Verdict)
	assert.Equal(t, "https://good.test/a?…", verdict.URL)
	require.Len(t, verdict.Hops, 1)
	assert.True(t, verdict.Hops[0].Fetch.Allowed)
	assert.Equal(t, 200, verdict.Hops[0].Proxy.Status)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "secret")
	assert.NotContains(t, string(raw), "q=2")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())
}

// TestWhatNobodyWaitedForIsInTheLog is of calls that timed out or were cancelled,
// and of pages that were on their way when the session ended.
func TestWhatNobodyWaitedForIsInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit := openAudit(t, ledger.AuditConfig{Path: path})
	l := ledger.New(ledger.Config{Audit: audit})
	s := l.BeginSession("client", nil)
	tab := l.AddTab(s, "T")
	begin := func(url string) ledger.NavigationID {
		nav := l.Open(tab, gate.Agent)
		l.Witness(l.AddHop(nav, target(t, url)), ledger.Fetch, ledger.Evidence{Allowed: true, Rule: gate.RulePattern})
		return nav
	}
	late := begin("https://good.test/late")
	begin("https://good.test/under-way")
	l.Open(tab, gate.Agent) // it asked for nothing
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.Settle(ended, late, ledger.Ending{Error: "net::ERR_TIMED_OUT"})
	l.EndSession(s)
	audit.Close()
	found := map[string]string{}
	for _, r := range records(t, path) {
		if r.Event == ledger.EventNavigation {
			found[r.URL] = r.Error
		}
	}
	assert.Equal(t, map[string]string{"https://good.test/late": "net::ERR_TIMED_OUT", "https://good.test/under-way": "unfinished"}, found)
}

func TestQueriesAreKeptOnlyWhenAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit := openAudit(t, ledger.AuditConfig{Path: path, Full: true})
	l := ledger.New(ledger.Config{Audit: audit})
	l.NoteStray(ledger.Wire{Target: target(t, "https://user:pw@good.test/?q=1")})
	audit.Close()
	url := records(t, path)[1].URL
	assert.Contains(t, url, "q=1")
	assert.NotContains(t, url, "pw", "credentials never")
}

func TestAChangedLogIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	audit := openAudit(t, ledger.AuditConfig{Path: path})
	l := ledger.New(ledger.Config{Audit: audit})
	for range 5 {
		l.BeginSession("client", nil)
	}
	audit.Close()
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	tests := map[string]struct {
		raw  []byte
		says string
	}{
		"a flipped byte":     {bytes.Replace(whole, []byte(`"session"`), []byte(`"sessiom"`), 1), "line 3: record 2 was changed"},
		"a removed line":     {bytes.Join(append(append([][]byte{}, lines[:2]...), lines[3:]...), nil), "line 3: record 4 comes after record 2"},
		"lines in new order": {bytes.Join([][]byte{lines[0], lines[2], lines[1]}, nil), "line 2: record 3 comes after record 1"},
		"a line cut short":   {whole[:len(whole)-9], "the line does not end"},
		"something else":     {append([]byte("hello\n"), whole...), "line 1: no record"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, test.raw, 0o600))
			err := ledger.ReadAudit(path, func(ledger.Record) error { return nil })
			assert.ErrorContains(t, err, test.says)
		})
	}
}

func TestTheChainGoesOnOverRotationsRestartsAndCutLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for range 3 {
		audit := openAudit(t, ledger.AuditConfig{Path: path, MaxSize: 300, Keep: 3})
		l := ledger.New(ledger.Config{Audit: audit})
		l.BeginSession("client", nil)
		audit.Close()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"seq":99`) // as a power cut leaves it
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	audit := openAudit(t, ledger.AuditConfig{Path: path, MaxSize: 300, Keep: 3})
	audit.Close()
	all := records(t, path)
	assert.Contains(t, events(all), "started session ended started")
	var cut int64
	for _, r := range all {
		cut += r.Cut
	}
	assert.Positive(t, cut)
	kept, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	assert.Greater(t, len(kept), 1)
	assert.LessOrEqual(t, len(kept), 4)
}

func TestSeveralProcessesWriteOneChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	for range 4 {
		audit := openAudit(t, ledger.AuditConfig{Path: path, MaxSize: 4096, Keep: 100}) // as good as a process: it opens the file by itself
		l := ledger.New(ledger.Config{Audit: audit})
		wg.Go(func() {
			for range 50 {
				l.BeginSession("client", nil)
			}
			audit.Close()
		})
	}
	wg.Wait()
	assert.Len(t, records(t, path), 4*52)
}

func TestALogThatIsRequiredAndCannotBeWrittenStopsNavigations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "logs", "audit.jsonl")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	audit := openAudit(t, ledger.AuditConfig{Path: path, Required: true})
	l := ledger.New(ledger.Config{Audit: audit})
	require.True(t, l.Recording())
	require.NoError(t, os.Rename(filepath.Dir(path), filepath.Join(dir, "moved")))
	l.BeginSession("while it is away", nil)
	require.Eventually(t, func() bool { return !l.Recording() }, wait, tick)
	require.NoError(t, os.Rename(filepath.Join(dir, "moved"), filepath.Dir(path)))
	require.Eventually(t, l.Recording, wait, tick, "asking is enough to try again")
	audit.Close()
	assert.Equal(t, "started session ended", events(records(t, path)), "what waited was written")

	_, err := ledger.OpenAudit(ledger.AuditConfig{Path: filepath.Join(dir, "nowhere", "audit.jsonl")})
	assert.ErrorContains(t, err, "opening the audit log")
}

func TestWithoutALogEverythingGoesOn(t *testing.T) {
	l := ledger.New(ledger.Config{})
	s := l.BeginSession("client", nil)
	l.Asked(s, nil, nil)
	l.Answered(s, nil)
	assert.True(t, l.Recording())
}

func FuzzAuditLogsAreReadToTheFirstBrokenLink(f *testing.F) {
	f.Add([]byte(`{"seq":1,"prev":"","at":"2026-12-04T00:00:00Z","event":"started"}` + "\n"))
	f.Add([]byte("{}\n{}\n"))
	f.Add([]byte(`{"seq":7,"prev":"x","event":"ended"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		var last uint64
		err := ledger.ReadAudit(path, func(r ledger.Record) error {
			if last != 0 {
				assert.Equal(t, last+1, r.Seq)
			}
			last = r.Seq
			return nil
		})
		if err == nil {
			assert.True(t, len(raw) == 0 || raw[len(raw)-1] == '\n', "only whole lines are read")
		}
	})
}
