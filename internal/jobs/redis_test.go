package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An address says where the servers are, how they belong together and who we
// are; what is wrong with one is told without the password in it.
func TestParseRedis(t *testing.T) {
	type want struct {
		addrs, user, password, sentinel, master string
		db                                      int
		tls, cluster                            bool
	}
	for address, w := range map[string]want{
		"redis://localhost":                   {addrs: "localhost:6379"},
		"redis://127.0.0.1:7000/3":            {addrs: "127.0.0.1:7000", db: 3},
		"redis://:secret@redis:6379/0":        {addrs: "redis:6379", password: "secret"},
		"redis://filer:s%40c%2Fr@redis":       {addrs: "redis:6379", user: "filer", password: "s@c/r"},
		"redis://[::1]:7000":                  {addrs: "[::1]:7000"},
		"redis://[::1]":                       {addrs: "[::1]:6379"},
		"rediss://:secret@redis.example:6380": {addrs: "redis.example:6380", password: "secret", tls: true},
		"redis://a:1,b:2,c:3":                 {addrs: "a:1 b:2 c:3", cluster: true},
		"redis-cluster://:secret@a:1":         {addrs: "a:1", password: "secret", cluster: true},
		"rediss-cluster://:secret@a,b/0": {
			addrs:    "a:6379 b:6379",
			password: "secret",
			cluster:  true,
			tls:      true,
		},
		"redis-sentinel://a,b:5000,c/2?master=m":   {addrs: "a:26379 b:5000 c:26379", master: "m", db: 2},
		"redis-sentinel://:watch@a:1,b:2?master=m": {addrs: "a:1 b:2", master: "m", sentinel: ":watch"},
		"rediss-sentinel://s:watch@a?master=m&username=u&password=p%26": {
			addrs:    "a:26379",
			master:   "m",
			sentinel: "s:watch",
			user:     "u",
			password: "p&",
			tls:      true,
		},
		"redis-socket:///run/redis.sock?db=4": {addrs: "/run/redis.sock", db: 4},
	} {
		o, err := parseRedis(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		got := want{strings.Join(o.Addrs, " "), o.Username, o.Password, "", o.MasterName, o.DB, o.TLSConfig != nil,
			o.IsClusterMode}
		if o.SentinelUsername+o.SentinelPassword != "" {
			got.sentinel = o.SentinelUsername + ":" + o.SentinelPassword
		}
		if got != w {
			t.Errorf("%s: %+v, want %+v", address, got, w)
		}
	}

	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, part := range map[string]string{
		"secret":                                        "begins with",
		"http://:secret@redis":                          "begins with",
		"redis://:se/secret@redis":                      "%2F",
		"redis://:se?secret@redis":                      "%3F",
		"redis://:se#secret@redis":                      "%23",
		"redis://:%secret@redis":                        "%25",
		"redis://:secret@redis:secret":                  "host:port",
		"redis://:secret@":                              "host:port",
		"redis://:secret@a,,b":                          "host:port",
		"redis://:secret@redis/secret":                  "a number",
		"redis://:secret@a,b/1":                         "no database but 0",
		"redis://:secret@redis?secret=1":                "option",
		"redis://:secret@redis?ca=/x":                   "option", // and no TLS: it would not be used
		"redis-sentinel://:secret@a":                    "master=",
		"redis-socket://:secret@host/path":              "redis-socket:///",
		"rediss://:secret@redis?ca=/nowhere":            "/nowhere",
		"rediss://:secret@redis?ca=" + garbage:          "no certificate",
		"rediss://:secret@redis?cert=/x":                "go together",
		"rediss://:secret@redis?cert=/nowhere&key=/nox": "/nowhere",
	} {
		_, err := parseRedis(address)
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want something of %s and no password", address, err, part)
		}
	}
}

// The keys of the pace lie in one slot: a script may touch both.
func TestPaceKeysShareASlot(t *testing.T) {
	tag := func(key string) string {
		_, rest, _ := strings.Cut(key, "{")
		tag, _, _ := strings.Cut(rest, "}")
		return tag
	}
	if tags := []string{tag(bucketKeys[0]), tag(bucketKeys[1])}; slices.Contains(tags, "") || tags[0] != tags[1] {
		t.Error(fmt.Sprint(tags))
	}
}
