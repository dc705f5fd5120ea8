package chrome

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sallyport/ledger"
)

func TestASessionThatIsDeclinedThreeTimesInARowHasToWait(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office, s ledger.SessionID) {
		other := o.ledger.BeginSession("other", nil)
		list := listOf(t, "good.test")
		decline := func() {
			t.Helper()
			asked := o.request(t.Context(), s, list)
			o.answers <- Declined
			require.ErrorIs(t, (<-asked).err, ErrDeclined)
		}
		for range 3 {
			decline()
		}
		var soon *CooldownError
		require.ErrorAs(t, (<-o.request(t.Context(), s, list)).err, &soon)
		assert.Equal(t, 30*time.Second, soon.RetryAfter)
		assert.Len(t, o.questions(), 3, "nobody was asked")

		asked := o.request(t.Context(), other, list)
		o.answers <- Allowed
		require.NoError(t, (<-asked).err, "another session may ask")

		time.Sleep(30 * time.Second) // of the test's own clock
		decline()
		require.ErrorAs(t, (<-o.request(t.Context(), s, list)).err, &soon, "one more is too many")

		time.Sleep(30 * time.Second)
		asked = o.request(t.Context(), s, list)
		o.answers <- Allowed
		require.NoError(t, (<-asked).err)
		o.ledger.ClearAllowlist(s)
		decline()
		decline()
		decline()
	})
}
