package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestRecordsAreTakenApart(t *testing.T) {
	for document, want := range map[string]string{
		`{"b":1.50,"a":"x","new":{"deep":[true,null]}}`: "b=1.50 a=x new.deep=true, ",
		`{"list":[],"objects":[{"a":1},{"a":2}]}`:       "list= objects[0].a=1 objects[1].a=2",
		`{"mixed":[1,{"a":2}]}`:                         "mixed[0]=1 mixed[1].a=2",
		`{"nested":[[1,2],[3]]}`:                        "nested=1, 2, 3",
		`{"e":"a\u001b[31mb\u202ec\nd"}`:                "e=a[31mbc d",
		`"text"`:                                        "=text",
		`{"big":12345678901234567890.10}`:               "big=12345678901234567890.10",
		`{"cut":`:                                       "",
		``:                                              "",
	} {
		var got []string
		for _, f := range fieldsOf(json.RawMessage(document)) {
			got = append(got, f.name+"="+f.value)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q, want %q", document, text, want)
		}
	}
}

func TestDifferencesAreOldAndNew(t *testing.T) {
	change := map[string]any{"a": "x", "b": "new", "c": true, "d": []string{}, "e": map[string]string{"f": "1"}}
	rows, err := differences(json.RawMessage(`{"a":"x","b":"old","d":["1","2"],"e":{"f":"0","g":"kept"}}`), change)
	const want = "[[b old -> new] [c (empty) -> true] [d 1, 2 -> (empty)] [e.f 0 -> 1]]"
	if got := fmt.Sprint(rows); err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}
