package web

import (
	"bufio"
	"context"
	"html"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

func TestSeats(t *testing.T) {
	s := newSeats(2, 3)
	first, leaveFirst := s.take("ana")
	second, leaveSecond := s.take("ana")
	if first == nil || second == nil {
		t.Fatal("ana has two seats")
	}
	if taken, _ := s.tryTake("ana"); taken != nil {
		t.Error("a third seat of two")
	}
	select {
	case <-first.displaced:
		t.Error("a seat that is not taken displaces another")
	default:
	}
	third, leaveThird := s.take("ana")
	select {
	case <-first.displaced:
	default:
		t.Error("the oldest is not displaced")
	}
	leaveFirst() // late, and once more than it counts
	if _, leave := s.take("ben"); leave == nil {
		t.Error("there is no seat for ben")
	}
	if taken, _ := s.take("eve"); taken != nil {
		t.Error("a fourth seat of three")
	}
	if taken, _ := s.tryTake("eve"); taken != nil {
		t.Error("a fourth seat of three")
	}
	// Someone who has all of theirs gives one up for the next, whatever the others have.
	if taken, _ := s.take("ana"); taken == nil {
		t.Error("ana gets none for her own")
	}
	select {
	case <-second.displaced:
	default:
		t.Error("the second is not displaced")
	}
	leaveSecond()
	leaveThird()
	leaveThird()
	if s.taken != 2 || len(s.of["ana"]) != 1 || third == nil {
		t.Errorf("%d taken, %d of ana", s.taken, len(s.of["ana"]))
	}
}

// Who watches more pages than one person can lets go of the one that was opened
// first, and that page is told.
func TestWatchedPagesAreBounded(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer)
	batch := v.submit(v.sheet("clients.csv", someClients)) // nobody places it: its page stays as it is
	_, body := v.get("/batches/" + batch)
	_, rest, _ := strings.Cut(body, `data-live="`)
	path, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatal("nothing is live")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := func() *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+html.UnescapeString(path), nil)
		s.must(err)
		answer, err := v.client.Do(r)
		s.must(err)
		t.Cleanup(func() { answer.Body.Close() })
		// Its seat is taken once it has begun to answer.
		if _, err := bufio.NewReaderSize(answer.Body, 16).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := watch()
	for range watchedEach {
		watch()
	}
	told, err := io.ReadAll(first.Body)
	s.must(err)
	if !strings.Contains(string(told), "event: full\n") || !first.Close {
		t.Errorf("the first page was told %q; its connection closes: %v", told, first.Close)
	}
}

// A file is refused before it is read while others of the same account are on
// their way, and where too many sheets lie there that no one submitted.
func TestUploadsAreBounded(t *testing.T) {
	s := newSite(t)
	v := s.as(ledger.Preparer)
	account, err := s.Ledger.Accounts().Find(t.Context(), v.name)
	s.must(err)
	var leave []func()
	for range uploadsEach {
		_, l := s.uploads.take(account.ID)
		leave = append(leave, l)
	}
	if status, body, _ := v.upload("/sheets", "a.csv", []byte(someClients)); status != http.StatusTooManyRequests {
		t.Errorf("%d\n%s", status, body)
	}
	for _, l := range leave {
		l()
	}
	for range keptEach {
		_, err := s.Ledger.Uploads().Add(t.Context(), ledger.Upload{File: "old.csv", CreatedBy: v.name},
			strings.NewReader("a"))
		s.must(err)
	}
	status, body, _ := v.upload("/sheets", "a.csv", []byte(someClients))
	if status != http.StatusUnprocessableEntity ||
		!strings.Contains(body, "You have 100 uploads that are not submitted") {
		t.Errorf("%d\n%s", status, body)
	}
	// What someone else keeps is theirs to delete.
	other := s.as(ledger.Preparer)
	if status, body, _ := other.upload("/sheets", "a.csv", []byte(someClients)); status != http.StatusOK {
		t.Errorf("%d\n%s", status, body)
	}
	if n, size, err := s.Ledger.Uploads().Count(t.Context(), v.name); n != keptEach || size != keptEach || err != nil {
		t.Errorf("%d sheets of %d bytes, %v", n, size, err)
	}
}
