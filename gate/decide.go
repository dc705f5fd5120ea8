package gate

// Initiator is who caused a navigation.
type Initiator string

const (
	Agent Initiator = "agent" // a tool call
	Page  Initiator = "page"  // a document acting by itself
	User  Initiator = "user"  // a person
)

// Rule names what decided.
type Rule string

const (
	RuleUngated    Rule = "ungated"     // a tab of the person's: nothing is gated
	RulePerson     Rule = "person"      // a person's navigation: nothing is gated
	RulePattern    Rule = "pattern"     // a pattern covers the host
	RuleNotCovered Rule = "not_covered" // no pattern covers the host
	RulePlainHTTP  Rule = "plain_http"  // covered, but plain HTTP to a public origin
	RuleMalformed  Rule = "malformed"   // no target at all
)

// Query is one question: may this target be loaded as a top-level document?
type Query struct {
	Target    Target
	Initiator Initiator
	// Gated is true in a tab that a session owns.
	Gated bool
	List  Allowlist
	// Local is true where the host is known not to be public: by its spelling, or
	// because a person approved it as private. Plain HTTP is fine there.
	Local bool
}

// Decision is the answer. The zero Decision refuses.
type Decision struct {
	Allowed bool
	Rule    Rule
	Pattern Pattern // what covered it, for RulePattern and RulePlainHTTP
}

// Decide answers q. It allocates nothing. Whatever no rule lets through is
// refused; an initiator that it does not know is treated as a page.
func Decide(q Query) Decision {
	switch {
	case !q.Gated:
		return Decision{Allowed: true, Rule: RuleUngated}
	case q.Initiator == User:
		return Decision{Allowed: true, Rule: RulePerson}
	case q.Target.IsZero():
		return Decision{Rule: RuleMalformed}
	}
	p, covered := q.List.Covers(q.Target.host)
	switch {
	case !covered:
		return Decision{Rule: RuleNotCovered}
	case q.Target.scheme != "https" && !q.Local:
		return Decision{Rule: RulePlainHTTP, Pattern: p}
	}
	return Decision{Allowed: true, Rule: RulePattern, Pattern: p}
}
