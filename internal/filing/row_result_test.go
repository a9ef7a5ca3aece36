package filing

import (
	"slices"
	"testing"
)

func TestTerminalResults(t *testing.T) {
	terminal := []Result{Placed, Exists}
	for _, r := range Results {
		if want := slices.Contains(terminal, r); r.Terminal() != want {
			t.Errorf("%s is terminal: %v, want %v", r, r.Terminal(), want)
		}
		for _, next := range Results {
			if r.Terminal() && r.CanBecome(next) && (r != Placed || next != Uncertain) {
				t.Errorf("a way out of %s: to %s", r, next)
			}
		}
	}
}

// Every state is where a row begins or can be reached, every state is in the
// list once, and each edge is there once, with its reason.
func TestEdges(t *testing.T) {
	if len(Results) != 9 {
		t.Errorf("%d states", len(Results))
	}
	reached := map[Result]bool{Invalid: true, Skipped: true, Ready: true} // what a check can say
	for range Edges {
		for _, e := range Edges {
			reached[e.To] = reached[e.To] || reached[e.From]
		}
	}
	for i, r := range Results {
		if !reached[r] {
			t.Errorf("%s cannot be reached", r)
		}
		if slices.Index(Results, r) != i {
			t.Errorf("%s is listed twice", r)
		}
	}
	for i, e := range Edges {
		if !slices.Contains(Results, e.From) || !slices.Contains(Results, e.To) || e.From == e.To || e.Why == "" {
			t.Errorf("%+v", e)
		}
		if slices.IndexFunc(Edges, func(o Edge) bool { return o.From == e.From && o.To == e.To }) != i {
			t.Errorf("%s to %s has two reasons", e.From, e.To)
		}
		if !e.From.CanBecome(e.To) {
			t.Errorf("%s cannot become %s", e.From, e.To)
		}
	}
	// Nothing is placed but by an answer or a person who has seen it. A ready row may have bought a
	// part of its order.
	for _, from := range Results {
		if from.CanBecome(Placed) != (from == Placing || from == Uncertain || from == Ready) {
			t.Errorf("%s to placed: %v", from, from.CanBecome(Placed))
		}
	}
	if Ready.CanBecome(Ready) || Result("").CanBecome(Ready) || Ready.CanBecome("") {
		t.Error("an edge that is not in the table")
	}
}
