package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

func ExampleService() {
	service := sandbox.New(sandbox.Config{})
	defer service.Close()
	service.AddCompany(sandbox.Company{ID: "comp_1", LegalName: "Harbor Light Bakery LLC"})
	server := httptest.NewServer(service.Handler())
	defer server.Close()

	request, err := http.NewRequest(http.MethodGet, server.URL+"/v1/companies/comp_1", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("x-api-key", "sk_test_example")
	answer, err := server.Client().Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	var company struct{ LegalName string }
	err = json.NewDecoder(answer.Body).Decode(&company)
	fmt.Println(answer.Status, company.LegalName, err)
	// Output: 200 OK Harbor Light Bakery LLC <nil>
}
