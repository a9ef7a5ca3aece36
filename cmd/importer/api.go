package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
)

// apiMethods are the methods of the filing service.
// Source: spec section 4.
// Assumption: the spec does not show the path of set price, so any path can be named.
var apiMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func newAPICommand(g *global) *cobra.Command {
	var fields []string
	c := &cobra.Command{
		Use:   "api METHOD PATH",
		Short: "Send a request to the filing service and print its answer",
		Long: `api sends one request to the filing service, below /v1, and prints the JSON of the
answer. It reaches users, companies, the organization, prices, documents, webhook
endpoints, and magic links. Orders and new companies are refused: only spreadsheets
buy them, each exactly once.

-f adds a field to the request. key=value is a text, and key:=value is JSON, such as a
number, true, a list, or an object. The filing service checks the fields.

If the answer is not a success, its JSON is printed too, and the exit status is 1.`,
		Example: `  importer api GET /users/ana@harborlight.example
  importer api POST /users -f fullName="Ana Ruiz" -f email=ana@harborlight.example
  importer api GET /companies/harbor-light-bakery-llc
  importer api PATCH /companies/comp_17 -f entityType=LLC -f formationState=DE
  importer api PATCH /organization -f showPrices:=false -f 'notifications:={"filingStatusEmail":true}'
  importer api GET /organization/prices
  importer api PUT /organization/prices/ein -f retailAmount:=99 -f enabled:=true
  importer api POST /auth/magic-link -f userId=user_81 -f companyId=comp_17
  importer api GET /documents/doc_1`,
		Args: takes(2, 2, "a method and a path, such as GET /organization"),
		RunE: func(c *cobra.Command, args []string) error {
			return runAPI(c.Context(), g, strings.ToUpper(args[0]), args[1], fields)
		},
	}
	c.Flags().StringArrayVarP(&fields, "field", "f", nil,
		"a field of the request, key=text or key:=JSON; repeat it for several")
	return c
}

// runAPI sends a request and prints the answer. Ctrl-C does not abort a change that was sent.
func runAPI(ctx context.Context, g *global, method, address string, fields []string) error {
	if err := checkRequest(method, address, len(fields) > 0); err != nil {
		return err
	}
	body, err := apiBody(fields)
	if err != nil {
		return err
	}
	client, err := newClient(g)
	if err != nil {
		return err
	}
	if method != http.MethodGet {
		ctx = context.WithoutCancel(ctx)
	}
	answer, err := client.Call(ctx, method, address, body)
	if len(answer) > 0 {
		g.terminal.print("%s", answer)
	}
	if method == http.MethodGet {
		return withAdvice(err)
	}
	return changeError(err, "the change may have been made. Look it up before you send it again")
}

// newClient returns a client for the filing service in the environment.
func newClient(g *global) (*filingapi.Client, error) {
	env, err := g.environment()
	if err != nil {
		return nil, err
	}
	return env.Client()
}

// changeError returns the error of a call that changes data at the filing service. advice is for a
// call with an unknown result, and is printed even after a Ctrl-C.
func changeError(err error, advice string) error {
	switch {
	case errors.Is(err, filingapi.ErrUncertain):
		return &status{code: exitFailed, err: fmt.Errorf("%w; %s", err, advice)}
	case err != nil:
		return &status{code: exitFailed, err: withAdvice(err)}
	}
	return nil
}

// withAdvice adds the remedy to an error.
func withAdvice(err error) error {
	if errors.Is(err, filingapi.ErrKeyRefused) {
		return fmt.Errorf("%w. Correct FILING_API_KEY", err)
	}
	return err
}

// apiPath matches the paths that api sends. Other characters could lead elsewhere if the filing
// service decodes a path again.
var apiPath = regexp.MustCompile(`^/[A-Za-z0-9._~@+/-]*$`)

// checkRequest refuses purchases, which only spreadsheets make, and a path that could lead to one
// under another name.
func checkRequest(method, address string, fields bool) error {
	u, err := url.Parse(address)
	bought := func(what string) bool { return strings.HasPrefix(strings.ToLower(u.Path), what) }
	switch {
	case !slices.Contains(apiMethods, method):
		return usage("%s is not a method: use one of %s", method, strings.Join(apiMethods, ", "))
	case err != nil || u.Scheme != "" || u.Host != "" || u.Fragment != "" || !apiPath.MatchString(u.Path) ||
		path.Clean(u.Path) != u.Path:
		return usage("%s is not a path below /v1, such as /organization", address)
	case method == http.MethodGet && fields:
		return usage("GET takes no fields")
	case method != http.MethodGet && (bought("/orders") ||
		slices.Contains(strings.Split(strings.ToLower(u.Path), "/"), "orders")):
		return errors.New("only spreadsheets buy, each row exactly once: use importer run FILE")
	case method == http.MethodPost && bought("/companies"):
		return errors.New("only spreadsheets create companies, each exactly once: use importer run FILE with rows " +
			"without a Company ID")
	}
	return nil
}

// apiBody parses fields into the object of a request. It returns nil without fields.
func apiBody(fields []string) (any, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	body := make(map[string]any)
	for _, field := range fields {
		key, text, ok := strings.Cut(field, "=")
		var value any = text
		if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
			if key = name; !json.Valid([]byte(text)) {
				return nil, usage("-f %s: what follows := must be JSON, such as 99, true, or [\"a\"]", field)
			}
			value = json.RawMessage(text)
		}
		if _, twice := body[key]; !ok || key == "" || twice {
			return nil, usage("-f %s: a field is key=text or key:=JSON, and each key is given once", field)
		}
		body[key] = value
	}
	return body, nil
}
