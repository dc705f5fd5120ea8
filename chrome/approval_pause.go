package chrome

import (
	"errors"
	"time"

	"sallyport/ledger"
)

// patientDeclines is how often in a row a session may be declined before it has to
// wait with its next question.
const patientDeclines = 3

// CooldownError is a session that asks again too soon.
type CooldownError struct{ RetryAfter time.Duration }

func (e *CooldownError) Error() string { return "prompt_cooldown" }

// declines counts a session's questions that were declined, since the last that
// was not.
type declines struct {
	count int
	until time.Time // it may not ask before
}

// answered counts the answer to a session's question. The lock must be held.
func (a *approvals) answered(s ledger.SessionID, err error) {
	switch {
	case err == nil:
		delete(a.declines, s)
	case errors.Is(err, ErrDeclined):
		d := a.declines[s]
		d.count++
		if d.count >= patientDeclines {
			d.until = time.Now().Add(a.Cooldown)
		}
		a.declines[s] = d
	}
}

// tooSoon says how long a session has to wait yet; nil when it may ask. The lock
// must be held.
func (a *approvals) tooSoon(s ledger.SessionID) error {
	if left := time.Until(a.declines[s].until); left > 0 {
		return &CooldownError{left}
	}
	return nil
}
