package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bulkfiling/bulkfiling/internal/money"
	"github.com/bulkfiling/bulkfiling/internal/nettest"
	"github.com/bulkfiling/bulkfiling/internal/sandbox"
)

// scriptKey is the API key of the scripts. No script may leave it in a file.
const scriptKey = "sk_test_5cr1ptKeyThatNobodyMaySee"

type serviceKey struct{}

// service is the sandbox of one script.
type service struct {
	*sandbox.Service
	stop   context.CancelFunc
	served chan error
	meant  []string // rules that the script broke on purpose
}

func serviceOf(ts *testscript.TestScript) *service { return ts.Value(serviceKey{}).(*service) }

// sandboxControl is the sandbox as a script sees it:
//
//	sandbox start [balance=10000] [latency=1ms] [key=KEY] [known=only] [types=camel]
//	sandbox seed companies.csv
//	sandbox deposit 500
//	sandbox key sk_test_other
//	sandbox fault reset:after nth=3 times=1 company=comp_1 endpoint='GET *' retry-after=1s
//	sandbox heal
//	sandbox down | sandbox refuse | sandbox up
//	sandbox books orders==40 duplicates==0 charged==975.00 'posts<=5'
//	sandbox await 'orders>=3'
//	sandbox order comp_1 ORDER
//	sandbox company harbor-light-llc COMPANY
//	sandbox ein comp_1 12-3456789
//	sandbox objected '4 set price 1'
func sandboxControl(ts *testscript.TestScript, neg bool, args []string) {
	s := serviceOf(ts)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sandbox start|seed|deposit|key|fault|heal|down|refuse|up|books|await|order ...")
	}
	do, args := args[0], args[1:]
	if do != "start" && s.Service == nil {
		ts.Fatalf("sandbox start comes first")
	}
	switch do {
	case "start":
		s.start(ts, args)
	case "seed":
		s.seed(ts, args[0])
	case "deposit":
		s.Deposit(int64(parseMoney(ts, args[0])))
	case "key":
		s.SetKeys(args...)
	case "fault":
		s.Inject(parseFault(ts, args[0], options(ts, args[1:])))
	case "heal":
		s.ClearFaults()
	case "ein":
		ts.Check(s.SetEIN(args[0], args[1]))
	case "down":
		s.SetOutage(sandbox.Outage503)
	case "refuse":
		s.SetOutage(sandbox.OutageRefuse)
	case "up":
		s.SetOutage(sandbox.OutageNone)
	case "books":
		books := s.Books()
		for _, claim := range args {
			if ok, got := compare(claim, s.fact(books)); !ok {
				ts.Fatalf("the sandbox's books: %s does not hold: %s", claim, got)
			}
		}
	case "await":
		s.await(ts, args)
	case "order":
		ts.Setenv(args[1], s.orderOf(ts, args[0]))
	case "company":
		ts.Setenv(args[1], companyOf(ts, args[0]))
	case "objected":
		if !slices.ContainsFunc(s.Violations(), func(v sandbox.Violation) bool { return v.Rule == args[0] }) {
			ts.Fatalf("the sandbox did not object by rule %s", args[0])
		}
		s.meant = append(s.meant, args[0])
	default:
		ts.Fatalf("unknown: sandbox %s", do)
	}
}

// port puts a free address of the loopback into a variable:
//
//	port ADDR
func port(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port VARIABLE")
	}
	ts.Setenv(args[0], nettest.Free())
}

func options(ts *testscript.TestScript, args []string) map[string]string {
	given := make(map[string]string)
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			ts.Fatalf("%q is not name=value", arg)
		}
		given[name] = value
	}
	return given
}

func parseMoney(ts *testscript.TestScript, text string) money.Cents {
	amount, err := money.Parse(text)
	ts.Check(err)
	return amount
}

// start serves on a free port of the loopback and points the environment at it,
// in place of an earlier sandbox of the script.
func (s *service) start(ts *testscript.TestScript, args []string) {
	given := map[string]string{"balance": "10000", "latency": "1ms", "key": scriptKey, "known": "all",
		"types": string(sandbox.Snake)}
	for name, value := range options(ts, args) {
		if given[name] == "" {
			ts.Fatalf("unknown option %s", name)
		}
		given[name] = value
	}
	ts.Check(s.halt())
	latency, err := time.ParseDuration(given["latency"])
	ts.Check(err)
	s.Service = sandbox.New(sandbox.Config{
		Keys:           []string{given["key"]},
		OpeningBalance: int64(parseMoney(ts, given["balance"])),
		Latency:        latency,
		OrderTypes:     sandbox.Style(given["types"]),
		AutoSeed:       given["known"] == "all",
		Seed:           1,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.served = stop, make(chan error, 1)
	go func() { s.served <- s.Serve(ctx, listener) }()
	ts.Setenv("FILING_BASE_URL", "http://"+listener.Addr().String()+"/v1")
	ts.Setenv("FILING_API_KEY", given["key"])
}

// halt stops the sandbox. No script may have sent it what the spec forbids.
func (s *service) halt() error {
	if s.Service == nil {
		return nil
	}
	s.stop()
	if err := <-s.served; err != nil {
		return err
	}
	for _, v := range s.Violations() {
		if !v.Hidden && !slices.Contains(s.meant, v.Rule) {
			return fmt.Errorf("sent against the rules: %s", v)
		}
	}
	return nil
}

// end stops the sandbox, and looks whether the key was written anywhere.
func (s *service) end(env *testscript.Env) {
	if err := s.halt(); err != nil {
		env.T().Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(env.WorkDir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(os.DirFS(env.WorkDir), path)
		if bytes.Contains(content, []byte(scriptKey)) {
			env.T().Fatal("the API key stands in ", path)
		}
		return err
	})
	if err != nil {
		env.T().Fatal(err)
	}
}

// seed puts companies on record from a CSV with the columns id, legalName,
// entityType, formationState, agent (the states with active service, separated
// by blanks), slug and email (of the user, who is put on record too).
func (s *service) seed(ts *testscript.TestScript, file string) {
	records, err := csv.NewReader(strings.NewReader(ts.ReadFile(file))).ReadAll()
	ts.Check(err)
	for _, record := range records[1:] {
		c := sandbox.Company{Agents: make(map[string]sandbox.Agent)}
		for i, value := range record {
			switch name := records[0][i]; name {
			case "id":
				c.ID = value
			case "slug":
				c.Slug = value
			case "legalName":
				c.LegalName = value
			case "entityType":
				c.EntityType = value
			case "formationState":
				c.FormationState = value
			case "email":
				if value != "" {
					c.UserID = s.AddUser(sandbox.User{Email: value}).ID
				}
			case "agent":
				for _, state := range strings.Fields(value) {
					c.Agents[state] = sandbox.ActiveService
				}
			default:
				ts.Fatalf("unknown column %s", name)
			}
		}
		s.AddCompany(c)
	}
}

func parseFault(ts *testscript.TestScript, text string, given map[string]string) sandbox.Fault {
	kind, when, _ := strings.Cut(text, ":")
	f := sandbox.Fault{Kind: sandbox.Kind(kind), After: when == "after"}
	if status, err := strconv.Atoi(kind); err == nil {
		f.Kind, f.Status = sandbox.FaultStatus, status
	}
	if !slices.Contains(sandbox.KindNames(), string(f.Kind)) {
		ts.Fatalf("unknown fault %s", text)
	}
	for name, value := range given {
		var err error
		switch name {
		case "nth":
			f.Nth, err = strconv.Atoi(value)
		case "times":
			f.Times, err = strconv.Atoi(value)
		case "company":
			f.Company = value
		case "endpoint":
			f.Endpoint = value
		case "retry-after":
			f.RetryAfter, err = time.ParseDuration(value)
		default:
			ts.Fatalf("unknown option %s", name)
		}
		ts.Check(err)
	}
	return f
}

// fact is a figure of the sandbox's records by its name in the scripts.
func (s *service) fact(books sandbox.Books) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if path, ok := strings.CutPrefix(name, "GET "); ok {
			return strconv.Itoa(books.Lookups["/v1"+path]), true
		}
		counted := map[string]int{
			"orders":            len(books.Orders),
			"items":             len(books.Items()),
			"duplicates":        len(books.Duplicates()),
			"posts":             books.Requests["POST /orders"],
			"patches":           books.Requests["PATCH /companies/{id}"],
			"created-companies": books.Requests["POST /companies"],
			"created-users":     books.Requests["POST /users"],
			"402":               books.Refused[402],
			"requests":          0,
			"changes":           0,
		}
		for endpoint, times := range books.Requests {
			counted["requests"] += times
			if !strings.HasPrefix(endpoint, "GET ") {
				counted["changes"] += times
			}
		}
		switch name {
		case "charged":
			return money.Cents(books.Charged).String(), true
		case "balance":
			return money.Cents(books.Balance).String(), true
		}
		n, known := counted[name]
		return strconv.Itoa(n), known
	}
}

// await waits until every claim about the records holds.
func (s *service) await(ts *testscript.TestScript, claims []string) {
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(time.Millisecond) {
		books, held := s.Books(), 0
		var last string
		for _, claim := range claims {
			ok, got := compare(claim, s.fact(books))
			if ok {
				held++
			} else {
				last = claim + " does not hold: " + got
			}
		}
		if held == len(claims) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited %s for the sandbox's books: %s", testTimeout, last)
		}
	}
}

// orderOf is the id of the only order of a company.
func (s *service) orderOf(ts *testscript.TestScript, company string) string {
	var ids []string
	for _, item := range s.Books().Items() {
		if item.CompanyID == company {
			ids = append(ids, item.ID)
		}
	}
	if len(ids) != 1 {
		ts.Fatalf("%s has the orders %v, not one", company, ids)
	}
	return ids[0]
}
