package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gofrs/flock"

	"github.com/bulkfiling/bulkfiling/internal/filingapi"
	"github.com/bulkfiling/bulkfiling/internal/ledger"
)

// The data folder has one folder with a ledger for each filing account:
//
//	accounts/harbor-accounting-test/account.json   the owner of the ledger
//	accounts/harbor-accounting-test/ledger.db

// ErrNoLedger means that there is no ledger and that the function does not create one.
var ErrNoLedger = errors.New("there is no ledger yet")

// ErrUndecided means that a person has to choose the ledger with --ledger. Nothing is sent until
// then.
var ErrUndecided = errors.New("nothing was sent")

const (
	accountsFolder = "accounts"
	accountFile    = "account.json"
	ledgerFile     = "ledger.db"
	// unassignedName is the name of a ledger that was created before the organization was known.
	unassignedName = "default"
)

// filingAccount is a ledger of the data folder and its owner.
type filingAccount struct {
	// Mode is "test" or "live".
	Mode          string                `json:"mode,omitempty"`
	Organizations []ledger.Organization `json:"organizations,omitempty"`
	// Keys are hashes of the keys used with the ledger.
	Keys []string `json:"keys,omitempty"`
	// Unnamed are hashes of a key and an address that a person assigned to the ledger.
	Unnamed []string  `json:"unnamed,omitempty"`
	UsedAt  time.Time `json:"usedAt"`

	name, dir string
}

// unassigned reports whether the ledger can be assigned to any organization, because no order was
// sent from it.
func (a *filingAccount) unassigned() bool {
	return len(a.Organizations) == 0 && len(a.Unnamed) == 0
}

func (a *filingAccount) belongsTo(mode string, o ledger.Organization) bool {
	return a.Mode == mode && slices.ContainsFunc(a.Organizations, o.Same)
}

func (a *filingAccount) has(key string) bool { return slices.Contains(a.Keys, key) }

// owner describes the owner for display.
func (a *filingAccount) owner() string {
	switch {
	case len(a.Organizations) > 0:
		return fmt.Sprintf("%s, %s", a.Organizations[0].Label(), a.Mode)
	case a.Mode != "":
		return "organization not reported, " + a.Mode
	}
	return "no organization yet"
}

// reported describes the organization as the filing service reported it.
func (a *filingAccount) reported() string {
	if len(a.Organizations) > 0 {
		return a.Organizations[0].String()
	}
	return a.owner()
}

// dataDir returns the default data folder of the operating system. It is empty if the user has no
// home folder.
func dataDir(getenv func(string) string) string { return dataDirOn(runtime.GOOS, getenv) }

func dataDirOn(goos string, getenv func(string) string) string {
	return folderOn(goos, getenv, "LocalAppData", "XDG_DATA_HOME", ".local/share", "Bulkfiling")
}

// loadAccounts lists the ledgers of the data folder, the most recently used first.
func (e *Environment) loadAccounts() ([]*filingAccount, error) {
	if e.DataDir == "" {
		return nil, errors.New("the user has no home folder: set FILING_DATA_DIR to a data folder")
	}
	files, err := fs.Glob(os.DirFS(e.DataDir), accountsFolder+"/*/*")
	if err != nil {
		return nil, fmt.Errorf("look for ledgers: %w", err)
	}
	var all []*filingAccount
	for _, file := range files {
		path := filepath.Join(e.DataDir, filepath.FromSlash(file))
		a := &filingAccount{dir: filepath.Dir(path), name: filepath.Base(filepath.Dir(path))}
		owner := filepath.Join(a.dir, accountFile)
		if base := filepath.Base(path); base != accountFile && (base != ledgerFile || exists(owner)) {
			continue
		}
		content, err := os.ReadFile(owner) // without it, the owner is unknown
		if err == nil {
			err = json.Unmarshal(content, a)
		}
		if err != nil {
			return nil, fmt.Errorf("read the owner of the ledger %s: %w", a.dir, err)
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b *filingAccount) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), strings.Compare(a.name, b.name))
	})
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// save writes account.json atomically.
func (a *filingAccount) save() error {
	content, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return fmt.Errorf("write the owner of the ledger: %w", err)
	}
	return writeFile("the owner of the ledger", filepath.Join(a.dir, accountFile), append(content, '\n'))
}

// locked calls do while no other process can choose a ledger.
func (e *Environment) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(filepath.Join(e.DataDir, accountsFolder), 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	guard := flock.New(filepath.Join(e.DataDir, accountsFolder, "lock"))
	if _, err := guard.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another process that chooses its ledger: %w", err)
	}
	defer guard.Unlock()
	return do()
}

// keyHash identifies the key. The key itself is never stored.
func (e *Environment) keyHash() string {
	if e.key.IsEmpty() {
		return ""
	}
	sum := sha256.Sum256([]byte("bulkfiling key " + e.key.Reveal()))
	return hex.EncodeToString(sum[:])
}

// unnamedHash identifies the key together with the address.
func (e *Environment) unnamedHash() string {
	sum := sha256.Sum256([]byte("bulkfiling key " + e.key.Reveal() + " at " + e.BaseURL))
	return hex.EncodeToString(sum[:])
}

// Chosen describes the chosen ledger.
type Chosen struct {
	Name  string
	Path  string
	Owner string
	// New reports whether the ledger is new.
	New bool
	// Several reports whether there are other ledgers, or the choice is not certain.
	Several bool
	// Reason explains the choice. It is empty if no explanation is needed.
	Reason string
}

// choose sets the ledger in use and describes it.
func (e *Environment) choose(a *filingAccount, all []*filingAccount, reason string) Chosen {
	e.chosen = a
	return Chosen{
		Name:    a.name,
		Path:    a.dir,
		Owner:   a.owner(),
		New:     !exists(filepath.Join(a.dir, ledgerFile)),
		Several: len(all) > 1,
		Reason:  reason,
	}
}

// database describes the ledger of DATABASE_URL.
func (e *Environment) database() Chosen {
	name := databaseName(e.DatabaseURL)
	return Chosen{Name: name, Path: "the PostgreSQL database " + name, Owner: "DATABASE_URL"}
}

func databaseName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "database"
	}
	return cmp.Or(strings.Trim(u.Path, "/"), "database")
}

// UseExisting chooses an existing ledger without a request. It is the ledger that Ledger names, the
// ledger of the key, or the most recently used ledger, in this order. UseExisting creates nothing
// and returns ErrNoLedger if there is none.
func (e *Environment) UseExisting() (Chosen, error) {
	if e.DatabaseURL != "" {
		return e.database(), e.checkDatabaseName()
	}
	all, err := e.loadAccounts()
	if err != nil {
		return Chosen{}, err
	}
	c, known := e.chooseKnown(all)
	switch {
	case known:
		return c, nil
	case e.Ledger != "":
		return Chosen{}, e.noSuchLedger(all)
	case len(all) == 0:
		return Chosen{}, fmt.Errorf("%w in %s; importer run FILE creates one", ErrNoLedger, e.DataDir)
	case len(all) == 1:
		c = e.choose(all[0], all, "the only one")
		c.Several = !e.key.IsEmpty() && !all[0].unassigned()
		return c, nil
	}
	return e.choose(all[0], all, "the last used"), nil
}

// UseUnassigned chooses the ledger to use before the filing service has reported the organization.
// It is the ledger of the key, or one without an organization if the key is unknown. Nothing is
// sent from an unassigned ledger until an organization is recognized and becomes its owner.
func (e *Environment) UseUnassigned(ctx context.Context) (Chosen, error) {
	if e.DatabaseURL != "" {
		return e.database(), e.checkDatabaseName()
	}
	all, err := e.loadAccounts()
	if err != nil {
		return Chosen{}, err
	}
	c, known := e.chooseKnown(all)
	if known {
		return c, nil
	}
	err = e.locked(ctx, func() error {
		if all, err = e.loadAccounts(); err != nil {
			return err
		}
		name := cmp.Or(e.Ledger, unassignedName)
		a := findByName(all, name)
		if a == nil {
			if a, err = e.newAccount(name); err != nil {
				return err
			}
			all = append(all, a)
		}
		c = e.choose(a, all, "")
		return a.save()
	})
	return c, err
}

// recognizeWithin is the time that ChooseLedger waits for the filing service to report the
// organization of the key.
const recognizeWithin = 10 * time.Second

// ChooseLedger chooses the existing ledger. If there are several, it asks the filing service for the
// organization of the key. If there is none, it also asks, and the ledger is new. Without an answer,
// nothing is sent from a new ledger until an organization is recognized, and several ledgers are an
// error unless Ledger names one.
func (e *Environment) ChooseLedger(ctx context.Context) (Chosen, error) {
	chosen, err := e.UseExisting()
	if !chosen.Several && err == nil || err != nil && !errors.Is(err, ErrNoLedger) {
		return chosen, err
	}
	nothing := err != nil
	if client, why := e.Client(); why == nil {
		defer client.Close()
		asking, stop := context.WithTimeout(ctx, recognizeWithin)
		defer stop()
		recognized, err := e.Recognize(asking, client)
		if _, unanswered := errors.AsType[*filingapi.Error](err); !unanswered || ctx.Err() != nil {
			return recognized, err
		}
		if !nothing && e.Ledger == "" {
			return chosen, fmt.Errorf("%w. There are several ledgers, and only the filing service knows which one "+
				"belongs to the API key. Name the ledger with --ledger NAME", err)
		}
	}
	if nothing {
		return e.UseUnassigned(ctx)
	}
	return chosen, nil
}

// chooseKnown chooses the ledger that Ledger names, or the ledger of the key. It returns false if
// there is none.
func (e *Environment) chooseKnown(all []*filingAccount) (Chosen, bool) {
	a, reason := findByName(all, e.Ledger), ""
	if e.Ledger == "" {
		a, reason = e.findByKey(all), "used with this API key"
	}
	if a == nil {
		return Chosen{}, false
	}
	return e.choose(a, all, reason), true
}

// findByKey returns the ledger that was last used with the key, or nil.
func (e *Environment) findByKey(all []*filingAccount) *filingAccount {
	key := e.keyHash()
	i := slices.IndexFunc(all, func(a *filingAccount) bool { return key != "" && a.has(key) })
	if i < 0 {
		return nil
	}
	return all[i]
}

// findByName returns a ledger by its name, or nil.
func findByName(all []*filingAccount, name string) *filingAccount {
	i := slices.IndexFunc(all, func(a *filingAccount) bool { return strings.EqualFold(a.name, name) })
	if i < 0 {
		return nil
	}
	return all[i]
}

func (e *Environment) noSuchLedger(all []*filingAccount) error {
	if len(all) == 0 {
		return fmt.Errorf("%w: there is no ledger %q in %s", ErrNoLedger, e.Ledger, e.DataDir)
	}
	return fmt.Errorf("%w named %q in %s. Existing ledgers: %s", ErrNoLedger, e.Ledger, e.DataDir, listAccounts(all))
}

func listAccounts(all []*filingAccount) string {
	var names []string
	for _, a := range all {
		names = append(names, fmt.Sprintf("%s (%s)", a.name, a.owner()))
	}
	return strings.Join(names, "; ")
}

// checkDatabaseName rejects a --ledger that is not the name of the database.
func (e *Environment) checkDatabaseName() error {
	if name := databaseName(e.DatabaseURL); e.Ledger != "" && e.Ledger != name {
		return fmt.Errorf("DATABASE_URL names the ledger %s, and --ledger names %s: remove one of them", name,
			e.Ledger)
	}
	return nil
}

// newAccount returns the account of a new ledger. save creates its folder.
func (e *Environment) newAccount(name string) (*filingAccount, error) {
	if name == "" || name != slug(name) {
		return nil, fmt.Errorf("%w: a ledger cannot be named %q: use lowercase letters, digits, and dashes",
			ErrUndecided, name)
	}
	return &filingAccount{name: name, dir: filepath.Join(e.DataDir, accountsFolder, name)}, nil
}

// slug converts the name of an organization to a folder name.
func slug(name string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(name) {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
		if b.Len() >= 48 {
			break
		}
	}
	return b.String()
}

// Recognize requests the organization of the key and chooses its ledger, which is an existing or a
// new one. It returns the filing service's errors, and ErrUndecided if a person has to choose.
func (e *Environment) Recognize(ctx context.Context, client *filingapi.Client) (Chosen, error) {
	o, err := FindOrganization(ctx, client)
	if err != nil {
		return Chosen{}, err
	}
	e.organization = &o
	if e.DatabaseURL != "" {
		return e.database(), e.checkDatabaseName()
	}
	if e.DataDir == "" {
		_, err := e.loadAccounts()
		return Chosen{}, err
	}
	var c Chosen
	err = e.locked(ctx, func() error {
		all, err := e.loadAccounts()
		if err != nil {
			return err
		}
		a, err := e.pick(all, o)
		if err != nil {
			return err
		}
		if findByName(all, a.name) == nil {
			all = append(all, a)
		}
		a.assign(e, o)
		c = e.choose(a, all, "")
		return a.save()
	})
	return c, err
}

// FindOrganization requests the organization of a key. The organization is empty if the filing
// service answers without one. An incomplete answer is inconclusive and therefore an error.
func FindOrganization(ctx context.Context, client *filingapi.Client) (ledger.Organization, error) {
	o, err := client.Organization(ctx)
	answered, ok := errors.AsType[*filingapi.Error](err)
	switch {
	case err == nil:
		return ledger.Organization{Name: o.Name, CreatedAt: o.CreatedAt, Domain: o.Domain, Subdomain: o.Subdomain}, nil
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused),
		errors.Is(err, filingapi.ErrLacking), ok && answered.Status == 501:
		return ledger.Organization{}, nil
	}
	return ledger.Organization{}, err
}

// assign records the organization and the key as owners of the ledger.
func (a *filingAccount) assign(e *Environment, o ledger.Organization) {
	a.Mode, a.UsedAt = e.Mode(), time.Now().UTC()
	add := func(list *[]string, hash string) {
		if !slices.Contains(*list, hash) {
			*list = append(*list, hash)
		}
	}
	add(&a.Keys, e.keyHash())
	switch {
	case !o.Known():
		add(&a.Unnamed, e.unnamedHash())
	case !slices.ContainsFunc(a.Organizations, o.Same):
		a.Organizations = append(a.Organizations, o)
	}
}

// pick returns the ledger of the organization, or a new one. If a person has to choose, it returns
// ErrUndecided with the choices.
func (e *Environment) pick(all []*filingAccount, o ledger.Organization) (*filingAccount, error) {
	mode, key := e.Mode(), e.keyHash()
	var own, seen, unassigned *filingAccount
	for _, a := range all {
		switch {
		case own == nil && a.belongsTo(mode, o):
			own = a
		case a.unassigned():
			unassigned = cmp.Or(unassigned, a)
		}
		if a.has(key) && (seen == nil || a == own) {
			seen = a
		}
	}
	if e.Ledger != "" {
		return e.pickNamed(all, o, own)
	}
	undecided := func(format string, args ...any) (*filingAccount, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrUndecided}, args...)...)
	}
	switch {
	case !o.Known():
		for _, a := range all {
			if a.Mode == mode && slices.Contains(a.Unnamed, e.unnamedHash()) {
				return a, nil
			}
		}
		existing := ""
		if len(all) > 0 {
			existing = " Existing ledgers: " + listAccounts(all)
		}
		return undecided("the filing service does not report the organization of the API key (GET /organization has "+
			"neither createdAt nor domain). Choose the ledger with --ledger NAME: an existing ledger, or a new "+
			"name for a new one.%s", existing)
	case own != nil && (seen == nil || seen == own):
		return own, nil
	case seen != nil && own != nil:
		return undecided("the API key was used with the ledger %s (%s), but the filing service now reports %s, whose "+
			"ledger is %s. To use that ledger, add --ledger %s",
			seen.name, seen.reported(), o, own.name, own.name)
	case seen != nil:
		return undecided("the API key was used with the ledger %s (%s), but the filing service now reports %s. If "+
			"this is the same organization, add --ledger %s. For a separate ledger, add --ledger %s",
			seen.name, seen.reported(), o, seen.name, e.freeName(all, o))
	case unassigned != nil:
		return unassigned, nil
	}
	return e.newAccount(e.freeName(all, o))
}

// pickNamed returns the ledger that --ledger names.
func (e *Environment) pickNamed(
	all []*filingAccount,
	o ledger.Organization,
	own *filingAccount,
) (*filingAccount, error) {
	a := findByName(all, e.Ledger)
	switch {
	case own != nil && a != own:
		return nil, fmt.Errorf(
			"%w: the ledger of %s is %s. From a second ledger, its orders would be bought again. Remove --ledger %s",
			ErrUndecided, o, own.name, e.Ledger)
	case a == nil:
		return e.newAccount(e.Ledger)
	case a.Mode != "" && a.Mode != e.Mode():
		return nil, fmt.Errorf("%w: the ledger %s has %s orders, but the API key is for %s orders", ledger.ErrMode,
			a.name, a.Mode, e.Mode())
	case a == own, a.unassigned(), a.has(e.keyHash()), !o.Known(), len(a.Organizations) == 0:
		return a, nil
	}
	return nil, fmt.Errorf("%w: the ledger %s belongs to %s, but the API key belongs to %s", ledger.ErrOrganization,
		a.name, a.reported(), o)
}

// freeName returns an unused name for a new ledger of the organization.
func (e *Environment) freeName(all []*filingAccount, o ledger.Organization) string {
	base := cmp.Or(slug(o.Name), slug(o.Subdomain), slug(o.Domain), "organization") + "-" + e.Mode()
	name := base
	for n := 2; findByName(all, name) != nil; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}
