package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const root = "../.."

// margin is what a drain takes beyond FILING_TIMEOUT. See cmd/worker.
const margin = 10 * time.Second

func compose(t *testing.T, env []string, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithEnv(env), cli.WithProfiles(profiles), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// The file is what compose says a compose file is, with the environment of
// nobody and with the one that deploy/ shows.
func TestComposeFileIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "fleet.env.example"))
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			own = append(own, line)
		}
	}
	for name, c := range map[string]struct {
		env      []string
		profiles []string
		services int
	}{
		"a fleet of one's own": {own, nil, 7},
		"the demo":             {nil, []string{"demo"}, 10},
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

// sound says what a service lacks that every one of them needs.
func sound(p *types.Project, s types.ServiceConfig) error {
	host, _, named := strings.Cut(s.Image, "/")
	switch {
	case named && strings.ContainsAny(host, ".:"):
		return fmt.Errorf("the image %s names a host", s.Image)
	case !strings.Contains(s.Image, ":") || strings.HasSuffix(s.Image, ":latest"):
		return fmt.Errorf("the image %s has no version", s.Image)
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
	for _, used := range s.Secrets {
		if _, err := os.Stat(p.Secrets[used.Source].File); err != nil && strings.Contains(p.Secrets[used.Source].File, "demo") {
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
	for name, v := range s.Environment {
		if v != nil && (strings.Contains(*v, "sk_") || strings.Contains(*v, ":demo@")) {
			return fmt.Errorf("a secret stands in %s", name)
		}
	}
	return nil
}

// The time-out of a request < the drain < the grace of whoever kills.
func TestComposeLetsWorkersDrain(t *testing.T) {
	worker := compose(t, nil).Services["worker"]
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
