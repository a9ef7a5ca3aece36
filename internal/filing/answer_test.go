package filing

import (
	"fmt"
	"testing"
)

// Every cell of the table of answers: each class, for an order that may be sent
// twice and for one that must not, with and without an attempt in doubt, for the
// last item and for one of several, before and after the attempts are used up.
func TestDecide(t *testing.T) {
	ready := Verdict{Next: Ready, Funds: Void}
	halt := func(h Halt) Verdict { return Verdict{Next: Ready, Funds: Void, Halt: h} }
	counted := func(next Result, funds Funds) Verdict { return Verdict{Next: next, Funds: funds, Attempt: true} }

	classes := []struct {
		class Class
		want  func(Standing) Verdict
	}{
		{NotSent, func(Standing) Verdict { return ready }},
		{Busy, func(Standing) Verdict { return halt(ForRate) }},
		{NoFunds, func(Standing) Verdict { return halt(ForFunds) }},
		{KeyRefused, func(Standing) Verdict { return halt(ForKey) }},
		{Accepted, func(Standing) Verdict { return counted(Placed, Post) }},
		{Unreadable, inDoubt}, {NoAnswer, inDoubt}, {ServerError, inDoubt},
		{HasItem, func(s Standing) Verdict {
			switch {
			case s.Doubt && !s.LastItem: // it was ours; of the rest the answer says nothing
				return Verdict{Next: Ready, Funds: Post, Doubt: true, Attempt: true, Drop: true}
			case s.Doubt: // it was ours
				return counted(Placed, Post)
			case s.LastItem:
				return counted(Exists, Void)
			}
			return Verdict{Next: Ready, Funds: Void, Attempt: true, Drop: true}
		}},
		{Refused, func(s Standing) Verdict {
			if s.Doubt { // the repetition was refused; whether the first attempt was, nobody knows
				return counted(Uncertain, Hold)
			}
			return counted(Rejected, Void)
		}},
	}
	if len(classes) != len(verdicts) {
		t.Fatalf("%d classes are tried and the table has %d", len(classes), len(verdicts))
	}
	truth := []bool{false, true}
	for _, c := range classes {
		for _, repeatable := range truth {
			for _, doubt := range truth {
				for _, last := range truth {
					for _, exhausted := range truth {
						s := Standing{Repeatable: repeatable, Doubt: doubt, LastItem: last, Exhausted: exhausted}
						want := c.want(s)
						if doubt && want.Next == Ready && !want.Drop && !want.Doubt {
							// An answer that sends nothing leaves the earlier doubt as it was.
							want.Doubt, want.Funds = true, Hold
						}
						if got := Decide(Answer{Class: c.class, Has: EIN}, s); got != want {
							t.Errorf("%s, %+v:\ngot  %+v\nwant %+v", c.class, s, got, want)
						}
					}
				}
			}
		}
	}
}

func inDoubt(s Standing) Verdict {
	if s.Repeatable && !s.Exhausted {
		return Verdict{Next: Ready, Funds: Hold, Doubt: true, Attempt: true}
	}
	return Verdict{Next: Uncertain, Funds: Hold, Attempt: true}
}

// What no cell of the table may say, whatever it is changed to.
func TestVerdictsAreConsistent(t *testing.T) {
	for class := range verdicts {
		for bits := range 16 {
			s := Standing{Repeatable: bits&1 > 0, Doubt: bits&2 > 0, LastItem: bits&4 > 0, Exhausted: bits&8 > 0}
			v := Decide(Answer{Class: class}, s)
			where := fmt.Sprintf("%s, %+v: %+v", class, s, v)
			if !Placing.CanBecome(v.Next) {
				t.Errorf("no edge: %s", where)
			}
			if (v.Funds == Post) != (v.Next == Placed || v.Drop && v.Doubt) {
				t.Errorf("money is spent exactly by what is placed: %s", where)
			}
			if (v.Funds == Hold) != (v.Next == Uncertain || v.Doubt && !v.Drop) {
				t.Errorf("money is held exactly by what is in doubt: %s", where)
			}
			if v.Doubt && v.Next != Ready {
				t.Errorf("only a row to be sent again is in doubt: %s", where)
			}
			if v.Halt != Nothing && (v.Next != Ready || v.Attempt) {
				t.Errorf("what halts the fleet uses up no attempt: %s", where)
			}
			if s.Doubt && v.Funds == Void {
				t.Errorf("money of an attempt in doubt is set free: %s", where)
			}
			if !s.Repeatable && v.Doubt && !s.Doubt {
				t.Errorf("an order that must not be sent twice is to be sent again: %s", where)
			}
		}
	}
}

func TestConflictOf(t *testing.T) {
	for _, c := range []struct {
		message string
		has     Product
	}{
		// Source: spec section 7.
		{"EIN already exists for this company", EIN},
		{"EIN already requested for this company", EIN},
		{"Foreign qualification already purchased for this state", ForeignQualification},
		{"Conflict: FOREIGN QUALIFICATION ALREADY PURCHASED for this state.", ForeignQualification},
		{"", ""},
		{"A user with this email already exists", ""},
		{"already exists", ""},
	} {
		has, ok := ConflictOf(c.message)
		if has != c.has || ok != (c.has != "") {
			t.Errorf("%q: %q, %v", c.message, has, ok)
		}
	}
}
