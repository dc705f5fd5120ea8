package chrome

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/gate"
	"sallyport/ledger"
)

// office is a queue of questions with a person whose answers a test gives, on a
// fake clock.
type office struct {
	*approvals
	ledger   *ledger.Ledger
	answers  chan Answer
	mu       sync.Mutex
	asked    []Question
	windows  int
	resolved []gate.Host
	private  map[gate.Host]string
}

type officeWindow struct{ o *office }

func (w officeWindow) Ask(ctx context.Context, q Question) (Answer, error) {
	w.o.mu.Lock()
	w.o.asked = append(w.o.asked, q)
	w.o.mu.Unlock()
	select {
	case a := <-w.o.answers:
		return a, nil
	case <-ctx.Done():
		return Declined, context.Cause(ctx)
	}
}

func (w officeWindow) Raise() {}

func (w officeWindow) Close() {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	w.o.windows--
}

func newOffice() *office {
	o := &office{ledger: ledger.New(ledger.Config{}), answers: make(chan Answer), private: map[gate.Host]string{}}
	o.approvals = newApprovals(approvalsConfig{
		Ledger: o.ledger,
		Open: func(context.Context) (window, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.windows++
			if o.windows > 1 {
				panic("two windows at a time")
			}
			return officeWindow{o}, nil
		},
		PrivateAddrs: func(_ context.Context, h gate.Host) ([]netip.Addr, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.resolved = append(o.resolved, h)
			if a := o.private[h]; a != "" {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, nil
		},
		Log: slog.New(slog.DiscardHandler),
	})
	return o
}

func (o *office) questions() []Question {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Question(nil), o.asked...)
}

type outcome struct {
	prompted bool
	err      error
}

// request asks on a goroutine of its own.
func (o *office) request(ctx context.Context, s ledger.SessionID, list gate.Allowlist) chan outcome {
	c := make(chan outcome, 1)
	go func() {
		prompted, err := o.Ask(ctx, s, list)
		c <- outcome{prompted, err}
	}()
	synctest.Wait()
	return c
}

func listOf(t *testing.T, entries ...string) gate.Allowlist {
	t.Helper()
	a, err := gate.ParseAllowlist(entries)
	require.NoError(t, err)
	return a
}

// inOffice runs a test on the fake clock.
func inOffice(t *testing.T, f func(*testing.T, *office, ledger.SessionID)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice()
		defer o.Close()
		f(t, o, o.ledger.BeginSession("tester", nil))
	})
}

func TestTheSameRequestJoinsTheOpenWindow(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		first := o.request(t.Context(), s, listOf(t, "a.test", "b.test"))
		second := o.request(t.Context(), s, listOf(t, "b.test", "a.test"))
		require.Len(t, o.questions(), 1)
		assert.True(t, o.Pending(s))
		o.answers <- Allowed
		assert.Equal(t, outcome{true, nil}, <-first)
		assert.Equal(t, outcome{true, nil}, <-second)
		assert.Equal(t, outcome{false, nil}, <-o.request(t.Context(), s, listOf(t, "a.test", "b.test")), "in force already")
		assert.False(t, o.Pending(s))
	})
}

func TestAnApprovalAfterTheCallerLeftStillCounts(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		ctx, cancel := context.WithCancel(t.Context())
		left := o.request(ctx, s, listOf(t, "a.test"))
		cancel()
		assert.ErrorIs(t, (<-left).err, context.Canceled)
		assert.True(t, o.Pending(s), "the window stays")
		again := o.request(t.Context(), s, listOf(t, "a.test"))
		require.Len(t, o.questions(), 1, "and is joined")
		o.answers <- Allowed
		assert.Equal(t, outcome{true, nil}, <-again)
		assert.Equal(t, 1, o.ledger.Allowlist(s).Len())
	})
}

func TestDecliningLeavesTheListAsItWas(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		o.ledger.Approve(s, listOf(t, "a.test"), nil)
		c := o.request(t.Context(), s, listOf(t, "b.test", "a.test"))
		q := o.questions()[0]
		assert.Equal(t, "tester", q.Client)
		assert.Equal(t, "b.test", q.Added[0].String())
		assert.Equal(t, "a.test", q.Kept[0].String())
		o.answers <- Declined
		assert.ErrorIs(t, (<-c).err, ErrDeclined)
		assert.Equal(t, []string{"a.test"}, o.ledger.Allowlist(s).Strings())
		assert.Empty(t, o.resolved, "no name is looked up before it is approved")
	})
}

func TestASmallerListAsksToo(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		o.ledger.Approve(s, listOf(t, "a.test", "b.test"), nil)
		c := o.request(t.Context(), s, listOf(t, "a.test"))
		require.Len(t, o.questions(), 1)
		assert.Len(t, o.questions()[0].Removed, 1)
		o.answers <- Allowed
		assert.True(t, (<-c).prompted)
	})
}

func TestTheQuestionExpires(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		c := o.request(t.Context(), s, listOf(t, "a.test"))
		began := time.Now()
		assert.ErrorIs(t, (<-c).err, ErrExpired)
		assert.Equal(t, 5*time.Minute, time.Since(began))
	})
}

func TestQuestionsOfSeveralSessionsComeOneAtATimeAndTakeTurns(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		other := o.ledger.BeginSession("other", nil)
		first := o.request(t.Context(), s, listOf(t, "a.test"))
		second := o.request(t.Context(), other, listOf(t, "b.test"))
		require.Len(t, o.questions(), 1)
		time.Sleep(61 * time.Second) // the fake clock's
		require.Len(t, o.questions(), 2, "unanswered for a minute, it goes behind the queue")
		assert.Equal(t, "other", o.questions()[1].Client)
		o.answers <- Allowed
		assert.True(t, (<-second).prompted)
		require.Len(t, o.questions(), 3)
		assert.Equal(t, "tester", o.questions()[2].Client)
		o.answers <- Allowed
		assert.NoError(t, (<-first).err)
	})
}

func TestAPrivateAddressAsksASecondTime(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		o.private["router.test"] = "192.168.1.1"
		c := o.request(t.Context(), s, listOf(t, "router.test", "*.wild.test", "localhost", "good.test"))
		o.questions()
		o.answers <- Allowed
		require.Len(t, o.questions(), 2)
		assert.Equal(t, gate.Host("router.test"), o.questions()[1].Local[0].Host)
		assert.ElementsMatch(t, []gate.Host{"router.test", "good.test"}, o.resolved, "neither wildcards nor what is local by its name")
		assert.Zero(t, o.ledger.Allowlist(s).Len(), "not in force before the second answer")
		o.answers <- Allowed
		assert.NoError(t, (<-c).err)
		assert.True(t, o.ledger.LocalApproved(s, "router.test"))
		assert.True(t, o.ledger.LocalApproved(s, "localhost"))
		assert.False(t, o.ledger.LocalApproved(s, "good.test"))

		o.private["second.test"] = "10.0.0.1"
		c = o.request(t.Context(), s, listOf(t, "second.test"))
		o.questions()
		o.answers <- Allowed
		o.questions()
		o.answers <- Declined
		assert.ErrorIs(t, (<-c).err, ErrDeclined, "the second question declines the whole")
	})
}

func TestANameUnderAWildcardIsAskedAboutAtItsFirstNavigation(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		o.ledger.Approve(s, listOf(t, "*.wild.test"), nil)
		c := make(chan error, 1)
		go func() { c <- o.AskLocal(t.Context(), s, "a.wild.test", addrs("10.0.0.1")) }()
		assert.Len(t, o.questions()[0].Local, 1)
		o.answers <- Allowed
		assert.NoError(t, <-c)
		assert.True(t, o.ledger.LocalApproved(s, "a.wild.test"))
		assert.Equal(t, []string{"*.wild.test"}, o.ledger.Allowlist(s).Strings())
	})
}

func TestTheEndOfASessionOrTheBrowserEndsItsQuestions(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		other := o.ledger.BeginSession("other", nil)
		mine, theirs := o.request(t.Context(), s, listOf(t, "a.test")), o.request(t.Context(), other, listOf(t, "b.test"))
		o.EndSession(s)
		assert.ErrorIs(t, (<-mine).err, ErrSessionEnded)
		require.Len(t, o.questions(), 2)
		o.Gone()
		assert.ErrorIs(t, (<-theirs).err, ErrGone)
		o.EndSession(other)
		o.ledger.EndSession(other)
		late := o.request(t.Context(), other, listOf(t, "c.test"))
		o.questions()
		o.answers <- Allowed
		assert.ErrorIs(t, (<-late).err, ErrSessionEnded, "an approval for a session that is over")
	})
}
