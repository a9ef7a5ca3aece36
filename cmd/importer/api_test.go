package main

import "testing"

func TestCheckRequest(t *testing.T) {
	for _, refused := range []string{"/orders", "/ORDERS/x", "/v1/orders", "/%6frders", "/x%2f..%2forders",
		"/%2Forders",
		"/x/orders", "/%256frders", "/users/%252e%252e/orders", "/\\orders", "/x/..;/y", "/;/x", "/%00/x", "/%20x",
		"/\u200borders", "/order\u017f", "/%EF%BC%8Fx", "https://evil/x", "/orders-bulk"} {
		if checkRequest("PUT", refused, true) == nil {
			t.Errorf("PUT %s is sent", refused)
		}
	}
	for _, sent := range []string{"/users/ana+b@harborlight.example", "/%75sers?x=a%20b", "/companies/comp_1~a"} {
		if err := checkRequest("PUT", sent, true); err != nil {
			t.Errorf("PUT %s: %v", sent, err)
		}
	}
	if err := checkRequest("GET", "/orders/ord_1", false); err != nil {
		t.Error(err)
	}
}
