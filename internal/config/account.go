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

	"bulkfiling/internal/filingapi"
	"bulkfiling/internal/ledger"
)

// The data folder holds one ledger for each filing account, a folder each:
//
//	accounts/harbor-accounting-test/account.json   whose ledger it is
//	accounts/harbor-accounting-test/ledger.db
//
// A ledger.db in the data folder itself is of a version that kept one for all.

// ErrNoLedger is returned where there is no ledger yet and none is to be begun.
var ErrNoLedger = errors.New("there is no ledger yet")

// ErrUndecided is returned where only a person can tell which ledger is meant.
// Nothing is sent before --ledger NAME says it.
var ErrUndecided = errors.New("nothing was sent")

const (
	accountsFolder  = "accounts"
	accountFile     = "account.json"
	ledgerFile      = "ledger.db"
	olderFolder     = ".bulkfiling" // where earlier versions kept the ledger, in the current folder
	olderName       = "main"        // the ledger of an earlier version in the data folder itself
	unassignedName  = "default"     // a ledger that was begun before any organization was known
	accountFileMode = 0o600
)

// account is one ledger of the data folder, and whose it is.
type account struct {
	Mode          string                `json:"mode,omitempty"` // "test" or "live"
	Organizations []ledger.Organization `json:"organizations,omitempty"`
	Keys          []string              `json:"keys,omitempty"`    // hashes of the keys that were used with it
	Unnamed       []string              `json:"unnamed,omitempty"` // hashes of key and address, where a person decided
	UsedAt        time.Time             `json:"usedAt"`

	name, dir string
	older     bool // a ledger that says nothing of itself: an earlier version made it
}

// unassigned reports whether the ledger may be given to any organization: it
// holds nothing that was sent.
func (a *account) unassigned() bool {
	return !a.older && len(a.Organizations) == 0 && len(a.Unnamed) == 0
}

func (a *account) belongsTo(mode string, o ledger.Organization) bool {
	return a.Mode == mode && slices.ContainsFunc(a.Organizations, o.Same)
}

func (a *account) has(key string) bool { return slices.Contains(a.Keys, key) }

// whose names the account for a person.
func (a *account) whose() string {
	switch {
	case a.older:
		return "an earlier version's, which does not say whose it is"
	case len(a.Organizations) > 0:
		return fmt.Sprintf("%s, %s", a.Organizations[0].Label(), a.Mode)
	case a.Mode != "":
		return "no organization reported, " + a.Mode
	}
	return "no organization yet"
}

// reported is what the filing service said of the account's organization.
func (a *account) reported() string {
	if len(a.Organizations) > 0 {
		return a.Organizations[0].String()
	}
	return a.whose()
}

// dataDir is the user's data folder: where each system keeps such things.
func dataDir(getenv func(string) string) string {
	join := func(base string, more ...string) string {
		if base == "" {
			return ""
		}
		return filepath.Join(append([]string{base}, more...)...)
	}
	switch runtime.GOOS {
	case "windows":
		return join(getenv("LocalAppData"), "Bulkfiling")
	case "darwin":
		return join(getenv("HOME"), "Library", "Application Support", "Bulkfiling")
	}
	if xdg := getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
		return join(xdg, "bulkfiling")
	}
	return join(getenv("HOME"), ".local", "share", "bulkfiling")
}

// loadAccounts reads what ledgers there are, the last used first.
func (e *Environment) loadAccounts() ([]*account, error) {
	if e.DataDir == "" {
		return nil, errors.New("the user has no home folder: name the data folder with FILING_DATA_DIR")
	}
	var all []*account
	add := func(name, dir string) error {
		a := &account{name: name, dir: dir}
		content, err := os.ReadFile(filepath.Join(dir, accountFile))
		switch {
		case err == nil:
			if err := json.Unmarshal(content, a); err != nil {
				return fmt.Errorf("read whose ledger %s is: %w", dir, err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("read whose ledger %s is: %w", dir, err)
		case !isThere(filepath.Join(dir, ledgerFile)):
			return nil
		default:
			a.older = true
		}
		all = append(all, a)
		return nil
	}
	if err := add(olderName, e.DataDir); err != nil {
		return nil, err
	}
	folder := filepath.Join(e.DataDir, accountsFolder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for ledgers: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := add(entry.Name(), filepath.Join(folder, entry.Name())); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *account) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), strings.Compare(a.name, b.name))
	})
	return all, nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// save writes whose ledger it is, whole or not at all.
func (a *account) save() error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return fmt.Errorf("create the folder of a ledger: %w", err)
	}
	content, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return fmt.Errorf("write whose ledger it is: %w", err)
	}
	file, err := os.CreateTemp(a.dir, accountFile+".*")
	if err != nil {
		return fmt.Errorf("write whose ledger it is: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(content, '\n'))
	err = errors.Join(err, file.Chmod(accountFileMode), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(a.dir, accountFile))
	}
	if err != nil {
		return fmt.Errorf("write whose ledger it is: %w", err)
	}
	return nil
}

// locked runs do while no other process chooses a ledger.
func (e *Environment) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(filepath.Join(e.DataDir, accountsFolder), 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	guard := flock.New(filepath.Join(e.DataDir, accountsFolder, "lock"))
	if _, err := guard.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another process to choose its ledger: %w", err)
	}
	defer guard.Unlock()
	return do()
}

// keyHash stands for the key. The key itself is never kept.
func (e *Environment) keyHash() string {
	if e.key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("bulkfiling key " + e.key.Reveal()))
	return hex.EncodeToString(sum[:])
}

// unnamedHash stands for the key at this address.
func (e *Environment) unnamedHash() string {
	sum := sha256.Sum256([]byte("bulkfiling key " + e.key.Reveal() + " at " + e.BaseURL))
	return hex.EncodeToString(sum[:])
}

// Chosen is the ledger that was chosen.
type Chosen struct {
	Name    string
	Path    string
	Whose   string
	New     bool // it is begun now, and empty
	Several bool // there are others, or it is not certain that this one is meant
	Why     string
}

// describe keeps the choice and tells it.
func (e *Environment) describe(a *account, all []*account, why string) Chosen {
	e.chosen = a
	c := Chosen{
		Name:    a.name,
		Path:    a.dir,
		Whose:   a.whose(),
		Several: len(all) > 1,
		Why:     why,
	}
	c.New = !isThere(filepath.Join(a.dir, ledgerFile))
	return c
}

// database is the choice where DATABASE_URL names the ledger.
func (e *Environment) database() Chosen {
	name := databaseName(e.DatabaseURL)
	return Chosen{Name: name, Path: "the PostgreSQL database " + name, Whose: "DATABASE_URL"}
}

func databaseName(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "database"
	}
	return cmp.Or(strings.Trim(u.Path, "/"), "database")
}

// UseExisting chooses a ledger that is there, without asking anybody: the one
// that Ledger names, else the one of the key, else the only one or the last
// used. It creates nothing, and returns ErrNoLedger where there is none.
func (e *Environment) UseExisting() (Chosen, error) {
	if e.DatabaseURL != "" {
		return e.database(), e.checkDatabaseName()
	}
	all, err := e.loadAccounts()
	if err != nil {
		return Chosen{}, err
	}
	if e.Ledger != "" {
		a := named(all, e.Ledger)
		if a == nil {
			return Chosen{}, e.noSuchLedger(all)
		}
		return e.describe(a, all, ""), nil
	}
	key := e.keyHash()
	for _, a := range all { // the last used first
		if key != "" && a.has(key) {
			return e.describe(a, all, "the API key's"), nil
		}
	}
	switch {
	case len(all) == 0:
		return Chosen{}, fmt.Errorf("%w in %s; importer run FILE begins one", ErrNoLedger, e.DataDir)
	case len(all) == 1:
		c := e.describe(all[0], all, "the only one")
		c.Several = key != "" && !all[0].unassigned()
		return c, nil
	}
	return e.describe(all[0], all, "the last used"), nil
}

// UseUnassigned chooses the ledger for what is kept before the filing service
// has said whose the key is: that of the key where it is known, and otherwise
// one that belongs to no organization yet. Nothing is sent from that one before
// an organization is recognized, whose it then becomes.
func (e *Environment) UseUnassigned(ctx context.Context) (Chosen, error) {
	if e.DatabaseURL != "" {
		return e.database(), e.checkDatabaseName()
	}
	all, err := e.loadAccounts()
	if err != nil {
		return Chosen{}, err
	}
	key := e.keyHash()
	if e.Ledger != "" {
		if a := named(all, e.Ledger); a != nil {
			return e.describe(a, all, ""), nil
		}
	} else {
		for _, a := range all {
			if key != "" && a.has(key) {
				return e.describe(a, all, "the API key's"), nil
			}
		}
	}
	var c Chosen
	err = e.locked(ctx, func() error {
		if all, err = e.loadAccounts(); err != nil {
			return err
		}
		name := cmp.Or(e.Ledger, unassignedName)
		a := named(all, name)
		if a == nil {
			if a, err = e.begin(name); err != nil {
				return err
			}
			all = append(all, a)
		}
		c = e.describe(a, all, "")
		return a.save()
	})
	return c, err
}

func named(all []*account, name string) *account {
	i := slices.IndexFunc(all, func(a *account) bool { return strings.EqualFold(a.name, name) })
	if i < 0 {
		return nil
	}
	return all[i]
}

func (e *Environment) noSuchLedger(all []*account) error {
	if len(all) == 0 {
		return fmt.Errorf("%w: no ledger %q in %s", ErrNoLedger, e.Ledger, e.DataDir)
	}
	return fmt.Errorf("%w named %q in %s; there is %s", ErrNoLedger, e.Ledger, e.DataDir, listAccounts(all))
}

func listAccounts(all []*account) string {
	var names []string
	for _, a := range all {
		names = append(names, fmt.Sprintf("%s (%s)", a.name, a.whose()))
	}
	return strings.Join(names, "; ")
}

// checkDatabaseName refuses a --ledger that is not the database's name.
func (e *Environment) checkDatabaseName() error {
	if name := databaseName(e.DatabaseURL); e.Ledger != "" && e.Ledger != name {
		return fmt.Errorf("DATABASE_URL names the ledger %s, and --ledger %s another: leave one of them out", name,
			e.Ledger)
	}
	return nil
}

// begin makes the account of a new ledger. Its folder is made when it is saved.
func (e *Environment) begin(name string) (*account, error) {
	if name != slug(name) || name == olderName {
		return nil, fmt.Errorf("%w: a ledger cannot be named %q: use small letters, digits and dashes, and not %q",
			ErrUndecided, name, olderName)
	}
	return &account{name: name, dir: filepath.Join(e.DataDir, accountsFolder, name)}, nil
}

// slug makes a folder's name of an organization's.
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

// Recognize asks the filing service whose the key is, and chooses the ledger of
// that organization: the one it has, or a new one. It returns the filing
// service's errors, and ErrUndecided where a person has to decide.
func (e *Environment) Recognize(ctx context.Context, client *filingapi.Client, sheets ...string) (Chosen, error) {
	o, err := organizationOf(ctx, client)
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
	if older := e.OlderLedger(sheets...); older != "" && e.Ledger == "" {
		return Chosen{}, fmt.Errorf("%w: %s", ErrUndecided, e.olderAdvice(older, o))
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
		if named(all, a.name) == nil {
			all = append(all, a)
		}
		a.take(e, o)
		c = e.describe(a, all, "")
		return a.save()
	})
	return c, err
}

// organizationOf is the organization that the key belongs to. It is empty where
// the filing service answers and does not say.
func organizationOf(ctx context.Context, client *filingapi.Client) (ledger.Organization, error) {
	o, err := client.Organization(ctx)
	answered, ok := errors.AsType[*filingapi.Error](err)
	switch {
	case err == nil:
		return ledger.Organization{Name: o.Name, CreatedAt: o.CreatedAt, Domain: o.Domain, Subdomain: o.Subdomain}, nil
	case errors.Is(err, filingapi.ErrNotFound), errors.Is(err, filingapi.ErrRefused), ok && answered.Status == 501,
		ok && answered.Status/100 == 2:
		return ledger.Organization{}, nil
	}
	return ledger.Organization{}, err
}

// take notes that the organization and the key belong to the ledger.
func (a *account) take(e *Environment, o ledger.Organization) {
	a.older, a.Mode, a.UsedAt = false, e.Mode(), time.Now().UTC()
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

// pick finds the organization's ledger, or begins it. ErrUndecided says what a
// person has to decide.
func (e *Environment) pick(all []*account, o ledger.Organization) (*account, error) {
	mode, key := e.Mode(), e.keyHash()
	var own, seen, older, unassigned *account
	for _, a := range all {
		switch {
		case own == nil && a.belongsTo(mode, o):
			own = a
		case a.older:
			older = cmp.Or(older, a)
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
	undecided := func(format string, args ...any) (*account, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrUndecided}, args...)...)
	}
	switch {
	case !o.Known():
		for _, a := range all {
			if a.Mode == mode && slices.Contains(a.Unnamed, e.unnamedHash()) {
				return a, nil
			}
		}
		known := ""
		if len(all) > 0 {
			known = "; there is " + listAccounts(all)
		}
		return undecided(
			"the filing service does not say which organization the API key belongs to (GET /organization names "+
				"neither createdAt nor domain). Say which ledger is meant with --ledger NAME: an existing one, or a "+
				"new name for a new one%s", known)
	case own != nil && (seen == nil || seen == own):
		return own, nil
	case seen != nil && own != nil:
		return undecided(
			"the API key was used with the ledger %s (%s), and now the filing service reports %s, whose ledger is "+
				"%s. To use that one, add --ledger %s",
			seen.name, seen.reported(), o, own.name, own.name)
	case seen != nil:
		return undecided(
			"the API key was used with the ledger %s (%s), and now the filing service reports %s. If that is the "+
				"same organization, add --ledger %s; for a ledger of its own, add --ledger %s",
			seen.name, seen.reported(), o, seen.name, e.freeName(all, o))
	case older != nil:
		return undecided(
			"%s holds a ledger of an earlier version, which does not say whose orders it has. If they are those of "+
				"%s, add --ledger %s once; for a new, empty ledger, add --ledger %s",
			older.dir, o, older.name, e.freeName(all, o))
	case unassigned != nil:
		return unassigned, nil
	}
	return e.begin(e.freeName(all, o))
}

// pickNamed is the ledger that a person has named.
func (e *Environment) pickNamed(all []*account, o ledger.Organization, own *account) (*account, error) {
	a := named(all, e.Ledger)
	switch {
	case own != nil && a != own:
		return nil, fmt.Errorf(
			"%w: the ledger of %s is %s, and orders from a second one would be bought twice. Leave --ledger %s out",
			ErrUndecided, o, own.name, e.Ledger)
	case a == nil:
		return e.begin(e.Ledger)
	case a.Mode != "" && a.Mode != e.Mode():
		return nil, fmt.Errorf("%w: the ledger %s holds %s orders, and the key is for %s ones", ledger.ErrMode, a.name,
			a.Mode, e.Mode())
	case a == own, a.older, a.unassigned(), a.has(e.keyHash()), !o.Known(), len(a.Organizations) == 0:
		return a, nil
	}
	return nil, fmt.Errorf("%w: the ledger %s is that of %s, and the API key belongs to %s", ledger.ErrOrganization,
		a.name, a.reported(), o)
}

// freeName is a name for the organization's new ledger.
func (e *Environment) freeName(all []*account, o ledger.Organization) string {
	base := cmp.Or(slug(o.Name), slug(o.Subdomain), slug(o.Domain), "organization") + "-" + e.Mode()
	name := base
	for n := 2; named(all, name) != nil; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// OlderLedger is the folder of a ledger that an earlier version kept in the
// current folder, or beside one of the sheets; empty where there is none, or
// where FILING_DATA_DIR says which folder is meant.
func (e *Environment) OlderLedger(sheets ...string) string {
	if !e.defaultDir || e.DatabaseURL != "" {
		return ""
	}
	for _, dir := range append([]string{"."}, sheets...) {
		dir = filepath.Join(dir, olderFolder)
		if !isThere(filepath.Join(dir, ledgerFile)) {
			continue
		}
		if absolute, err := filepath.Abs(dir); err == nil {
			dir = absolute
		}
		return dir
	}
	return ""
}

// olderAdvice says how the ledger of an earlier version is taken over.
func (e *Environment) olderAdvice(older string, o ledger.Organization) string {
	all, err := e.loadAccounts()
	if err != nil {
		return err.Error()
	}
	name := e.freeName(all, o)
	target := filepath.Join(e.DataDir, accountsFolder, name)
	move := fmt.Sprintf("mkdir -p %s && mv %s %s", quote(filepath.Dir(target)), quote(older), quote(target))
	if runtime.GOOS == "windows" {
		move = fmt.Sprintf(`mkdir "%s" & move "%s" "%s"`, filepath.Dir(target), older, target)
	}
	return fmt.Sprintf(
		`an earlier version kept its ledger in %s, and what was bought through it is known there alone. Ledgers are in %s now.
To take it over, stop everything that uses it, then: %s
and add --ledger %s once. To leave it aside, say which ledger is meant: --ledger NAME (an existing one, or a new name)`, older, e.DataDir, move, name)
}

func quote(path string) string {
	if strings.ContainsAny(path, " '\"$&;()\\") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
