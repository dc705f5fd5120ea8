package chrome

import (
	"cmp"
	"time"
)

// stallWait bounds how long the loop may stand still before the browser is ended.
const stallWait = 10 * time.Second

// watch ends the browser when the loop stands still: no gate would answer, and
// every call would hang. The loop gets two halves of the wait, so that a process
// that was itself stopped for a while (SIGSTOP) is not taken for one that stalls.
func (in *instance) watch() {
	wait := cmp.Or(in.cfg.StallWait, stallWait)
	for {
		alive := make(chan struct{})
		in.mailbox.post(func() { close(alive) })
		for half := 0; ; half++ {
			timer := time.NewTimer(wait / 2)
			select {
			case <-in.gone:
				timer.Stop()
				return
			case <-timer.C:
			}
			if closed(alive) {
				break
			}
			if half == 1 {
				in.log.Error("deciding on a browser event stalls; ending the browser", "after", wait)
				in.lost() // first, so that no call waits for the end
				in.cancel()
				return
			}
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
