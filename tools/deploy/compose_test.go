package deploy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const root = "../.."

// margin is what a drain takes beyond FILING_TIMEOUT. See cmd/worker.
const margin = 10 * time.Second

// load reads the compose file as compose does.
func load(ctx context.Context, env []string, profiles ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithEnv(env),
		cli.WithProfiles(profiles), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

func compose(t *testing.T, env []string, profiles ...string) *types.Project {
	t.Helper()
	project, err := load(t.Context(), env, profiles...)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// variablesOf are those of a file of variables.
func variablesOf(t *testing.T, path ...string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// demo is the compose file as the demo is started.
func demo(t *testing.T, more ...string) *types.Project {
	t.Helper()
	env := append(variablesOf(t, "deploy", "demo", "fleet.env"), more...)
	if !slices.Contains(env, "COMPOSE_PROFILES=demo") {
		t.Error("the demo does not name its profile")
	}
	return compose(t, env, "demo")
}

// The file is what compose says a compose file is, with the environment of
// nobody and with the one that deploy/ shows.
func TestComposeFileIsValid(t *testing.T) {
	for name, c := range map[string]struct {
		env      []string
		profiles []string
		services int
	}{
		"a fleet of one's own": {variablesOf(t, "deploy", "fleet.env.example"), nil, 6},
		"the demo":             {variablesOf(t, "deploy", "demo", "fleet.env"), []string{"demo"}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			p := compose(t, c.env, c.profiles...)
			if len(p.Services) != c.services {
				t.Errorf("%d services: %v", len(p.Services), p.ServiceNames())
			}
			for name, s := range p.Services {
				if err := sound(p, s); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

var pinned = regexp.MustCompile(`:[0-9][^@]*@sha256:[0-9a-f]{64}$|:v[0-9][^@]*@sha256:[0-9a-f]{64}$`)

// What the image is built with is pinned as well.
func TestDockerfileIsPinned(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1)
	if len(from) != 2 {
		t.Errorf("%d stages", len(from))
	}
	for _, image := range from {
		if image[1] != "scratch" && !pinned.MatchString(image[1]) {
			t.Errorf("%s is not pinned by its digest", image[1])
		}
	}
	if strings.Contains(string(text), "# syntax=") {
		t.Error("the syntax is another image")
	}
}

// A fleet without secrets of its own does not start with those that everybody
// can read, whatever else is set.
func TestNothingFallsBackToTheDemo(t *testing.T) {
	for _, env := range [][]string{nil, {"FILING_BASE_URL=https://api.example.com/v1"},
		{"FILING_BASE_URL=https://api.example.com/v1", "BULKFILING_SECRETS="}} {
		for _, profiles := range [][]string{nil, {"demo"}} {
			if _, err := load(t.Context(), env, profiles...); err == nil ||
				!strings.Contains(err.Error(), "BULKFILING_SECRETS") &&
					!strings.Contains(err.Error(), "FILING_BASE_URL") {
				t.Errorf("%v, %v: %v", env, profiles, err)
			}
		}
	}
	if _, err := load(t.Context(), []string{"BULKFILING_SECRETS=./deploy/secrets"}); err == nil {
		t.Error("there is no service, and it starts")
	}
	for name, secret := range compose(t, variablesOf(t, "deploy", "fleet.env.example")).Secrets {
		if strings.Contains(secret.File, filepath.Join("demo", "secrets")) {
			t.Errorf("%s is the demo's", name)
		}
	}
}

// The servers that hold the money's records are reached by those that need them.
func TestWhoReachesTheServers(t *testing.T) {
	p := demo(t)
	for name, s := range p.Services {
		_, data := s.Networks["data"]
		if want := slices.Contains([]string{"worker", "server", "demo", "postgres", "redis"},
			name); data != want {
			t.Errorf("%s is in the network of the servers: %v", name, data)
		}
	}
	for _, name := range []string{"postgres", "redis"} {
		if s := p.Services[name]; len(s.Networks) != 1 || len(s.Ports) > 0 || s.User == "" ||
			strings.HasPrefix(s.User, "0") || s.User == "root" {
			t.Errorf("%s: networks %v, ports %v, user %q", name, s.Networks, s.Ports, s.User)
		}
	}
	if !p.Networks["data"].Internal {
		t.Error("the network of the servers leads out")
	}
	command := strings.Join(p.Services["redis"].Command, " ")
	config, err := os.ReadFile(filepath.Join(root, "deploy", "redis", "redis.conf"))
	if err != nil || !strings.Contains(command, "requirepass") ||
		!strings.Contains(command, "/run/secrets/redis_password") ||
		!strings.Contains(string(config), "\nprotected-mode yes\n") {
		t.Errorf("Redis wants no password: %s\n%s", command, config)
	}
}

// sound says what a service lacks that every one of them needs.
func sound(p *types.Project, s types.ServiceConfig) error {
	host, _, named := strings.Cut(s.Image, "/")
	switch {
	case named && strings.ContainsAny(host, ".:"):
		return fmt.Errorf("the image %s names a host", s.Image)
	case !strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest"):
		return fmt.Errorf("the image %s has no version", s.Image)
	case !strings.HasPrefix(s.Image, "bulkfiling:") && !pinned.MatchString(s.Image):
		return fmt.Errorf("the image %s is not pinned by its digest", s.Image)
	case !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 ||
		!slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged:
		return fmt.Errorf("it has privileges")
	case !s.ReadOnly:
		return fmt.Errorf("its root can be written to")
	case s.MemLimit <= 0:
		return fmt.Errorf("it may take all memory of the machine")
	case s.ContainerName != "":
		return fmt.Errorf("it has a name of its own and cannot scale")
	case s.Restart == "":
		return fmt.Errorf("it has no restart policy")
	case s.Logging == nil:
		return fmt.Errorf("its log grows without bounds")
	case s.Name == "worker" && len(s.Ports) > 0:
		return fmt.Errorf("a port of the host keeps it from scaling")
	}
	for _, port := range s.Ports {
		if port.HostIP != "127.0.0.1" {
			return fmt.Errorf("port %s is open to the world", port.Published)
		}
	}
	for _, v := range s.Volumes {
		if v.Type != types.VolumeTypeBind {
			continue
		}
		if _, err := os.Stat(v.Source); err != nil {
			return fmt.Errorf("it mounts what is not there: %w", err)
		}
	}
	if err := soundSecrets(p, s); err != nil {
		return err
	}
	for name, v := range s.Environment {
		if v != nil && (strings.Contains(*v, "sk_") || strings.Contains(*v, ":demo@")) {
			return fmt.Errorf("a secret stands in %s", name)
		}
	}
	return nil
}

// soundSecrets says which secret of a service is missing or not named in its
// environment.
func soundSecrets(p *types.Project, s types.ServiceConfig) error {
	for _, used := range s.Secrets {
		if _, err := os.Stat(p.Secrets[used.Source].File); err != nil &&
			strings.Contains(p.Secrets[used.Source].File, "demo") {
			return fmt.Errorf("the secret %s of the demo: %w", used.Source, err)
		}
		name := strings.ToUpper(used.Source) + "_FILE"
		want := "/run/secrets/" + used.Source
		if filepath.Base(p.Secrets[used.Source].File) == "nothing" {
			want = ""
		}
		if v := s.Environment[name]; strings.HasPrefix(s.Image, "bulkfiling:") && (v == nil || *v != want) {
			return fmt.Errorf("%s does not name the secret %s", name, used.Source)
		}
	}
	return nil
}

// The timeout of a request < the drain < the grace period of the container.
func TestComposeLetsWorkersDrain(t *testing.T) {
	worker := demo(t).Services["worker"]
	timeout, err := time.ParseDuration(*worker.Environment["FILING_TIMEOUT"])
	if err != nil {
		t.Fatal(err)
	}
	if worker.StopGracePeriod == nil || time.Duration(*worker.StopGracePeriod) <= timeout+margin {
		t.Errorf("the grace is %v, a drain takes up to %v", worker.StopGracePeriod, timeout+margin)
	}
	if worker.HealthCheck == nil || worker.HealthCheck.Test[1] != "/worker" {
		t.Errorf("there is no shell: the binary checks itself, not %+v", worker.HealthCheck)
	}
}

// What everybody can read is good for the sandbox alone.
func TestSecretsOfTheDemoOrderNothingReal(t *testing.T) {
	key, err := os.ReadFile(filepath.Join(root, "deploy", "demo", "secrets", "filing_api_key"))
	if err != nil || !strings.HasPrefix(string(key), "sk_test_") {
		t.Errorf("the key of the demo is not a test key: %v", err)
	}
}
