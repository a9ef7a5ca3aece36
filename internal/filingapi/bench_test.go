package filingapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/bulkfiling/bulkfiling/internal/filing"
	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// What the client's care costs: orders at 64 in flight against a service that
// answers in 20 ms, beside a bare HTTP client that does the same.
func BenchmarkOrders(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(20 * time.Millisecond)
		_, _ = io.WriteString(
			w, `{"companyId":"comp_1","items":[{"orderType":"annual_report","orderId":"order_1",`+
				`"filingStatus":"submitted"}]}`)
	}))
	defer srv.Close()

	b.Run("client", func(b *testing.B) {
		c, err := filingapi.New(filingapi.Config{BaseURL: srv.URL + "/v1", Key: testKey, Concurrency: 64})
		if err != nil {
			b.Fatal(err)
		}
		inFlight(b, func() bool { return c.PlaceOrder(b.Context(), report()).Kind == filing.Accepted })
	})
	b.Run("bare", func(b *testing.B) {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		inFlight(b, func() bool {
			body, err := json.Marshal(report())
			if err != nil {
				return false
			}
			response, err := c.Post(srv.URL+"/v1/orders", "application/json", bytes.NewReader(body))
			if err != nil {
				return false
			}
			defer response.Body.Close()
			var made struct{ Items []filing.Item }
			return json.NewDecoder(response.Body).Decode(&made) == nil
		})
	})
}

func inFlight(b *testing.B, place func() bool) {
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if !place() {
				b.Error("an order failed")
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
}
