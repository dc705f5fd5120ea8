package chrome

import "time"

// stallWait bounds how long the loop may stand still before the browser is ended.
const stallWait = 10 * time.Second

// watch ends the browser when the loop stands still: no gate would answer, and
// every call would hang. The loop gets two halves of the wait, so that a process
// that was itself stopped for a while (SIGSTOP) is not taken for one that stalls.
func (in *instance) watch() {
	for {
		alive := make(chan struct{})
		in.mailbox.post(func() { close(alive) })
		for half := 0; ; half++ {
			timer := time.NewTimer(in.cfg.StallWait / 2)
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
				in.stalled("deciding on a browser event stalls; ending the browser")
				return
			}
		}
	}
}

func (in *instance) stalled(what string) {
	in.log.Error(what, "after", in.cfg.StallWait)
	in.lost() // first, so that no call waits for the end
	in.cancel()
}

// hear hands an event to the listener that takes it. One that stands still holds
// up chromedp, with all events and commands after it, so that ends the browser too.
func (in *instance) hear(event any, take func(any)) {
	stall := time.AfterFunc(in.cfg.StallWait, func() { in.stalled("taking a browser event stalls; ending the browser") })
	defer stall.Stop()
	if in.cfg.Hear == nil {
		take(event)
		return
	}
	in.cfg.Hear(event, func() { take(event) })
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
