package filing

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkfiling/bulkfiling/internal/goldentest"
)

// TestKeys compares the key of each item of an order.
func TestKeys(t *testing.T) {
	goldentest.Lines(t, "testdata/keys.txt", func(t *testing.T, fields []string) string {
		var o Order
		if err := json.Unmarshal([]byte(fields[1]), &o); err != nil {
			t.Fatal(err)
		}
		keys := o.Keys()
		var all []string
		for _, p := range o.Products() {
			all = append(all, fmt.Sprintf("%s %s", p, keys[p]))
		}
		if len(keys) != len(all) {
			t.Errorf("%d keys for %d items", len(keys), len(all))
		}
		return strings.Join(all, ", ")
	})
}
