package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// ofTheImage lists the variables that only the image sets.
// Daily backups are of an SQLite ledger alone, which containers do not use.
var ofTheImage = []string{"FILING_DATA_DIR", "FILING_BACKUP_DIR", "FILING_BACKUP_KEEP"}

// variables lists the variables of the table in docs/reference.md, which is
// generated from the program's own; secret lists those that a file may hold.
func variables(t *testing.T) (all, secret []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- environment -->")
	table, _, _ = strings.Cut(table, "<!-- /environment -->")
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		if !slices.Contains(ofTheImage, row[1]) {
			all = append(all, row[1])
		}
	}
	for _, name := range regexp.MustCompile(`\b([A-Z_]+)_FILE\b`).FindAllStringSubmatch(table, -1) {
		secret = append(secret, name[1])
	}
	if len(all) < 15 || len(secret) < 6 {
		t.Fatalf("docs/reference.md has the variables %v, and the secrets %v", all, secret)
	}
	return all, secret
}

// lacking lists the variables that a container is not given. A secret may be
// given by the name of its file.
func lacking(t *testing.T, has func(name string) bool) []string {
	t.Helper()
	all, secret := variables(t)
	return slices.DeleteFunc(all, func(name string) bool {
		return slices.Contains(secret, name) && has(name+"_FILE") || has(name)
	})
}

// TestEveryVariableReachesTheContainers checks that every variable which the
// program reads can be set in every deployment.
func TestEveryVariableReachesTheContainers(t *testing.T) {
	fees := filepath.Join(t.TempDir(), "fees.csv")
	p := demo(t, "FILING_FEES="+fees, "FILING_NOTIFY_FILE=./notify", "FILING_WEBHOOK_SECRET_FILE=./hooks",
		"FILING_NOTIFY_ON=funds", "FILING_PRICE_TYPES=a=b",
		"PUBLIC_URL=https://x.test")
	for _, name := range []string{"worker", "server", "demo"} {
		s := p.Services[name]
		if missing := lacking(t, func(v string) bool { _, ok := s.Environment[v]; return ok }); len(missing) > 0 {
			t.Errorf("%s of docker-compose.yml has no %v", name, missing)
		}
		for variable, want := range map[string]string{
			"FILING_FEES": "/etc/bulkfiling/state-fees.csv", "FILING_NOTIFY_FILE": "/run/secrets/filing_notify",
			"FILING_WEBHOOK_SECRET_FILE": "/run/secrets/filing_webhook_secret",
			"FILING_NOTIFY_ON":           "funds", "FILING_PRICE_TYPES": "a=b",
			"PUBLIC_URL": "https://x.test",
		} {
			if v := s.Environment[variable]; v == nil || *v != want {
				t.Errorf("%s has %s=%v, want %s", name, variable, v, want)
			}
		}
		if len(s.Configs) != 1 || s.Configs[0].Target != "/etc/bulkfiling/state-fees.csv" ||
			p.Configs[s.Configs[0].Source].File != fees {
			t.Errorf("%s does not have the fees: %+v of %+v", name, s.Configs, p.Configs)
		}
	}

	objects := built(t)
	for _, object := range objects {
		if config, ok := object.(*corev1.ConfigMap); ok {
			if missing := lacking(t, func(v string) bool { _, ok := config.Data[v]; return ok }); len(missing) > 0 {
				t.Errorf("deploy/kubernetes/config.yaml has no %v", missing)
			}
		}
		if d, ok := object.(*appsv1.Deployment); ok {
			if !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].VolumeMounts,
				func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/bulkfiling" }) {
				t.Errorf("%s has no folder for the fees", d.Name)
			}
		}
	}
}

// What docker-compose.yml takes from the environment stands in the example of one.
func TestTheExampleOfAnEnvironmentIsWhole(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join(root, "deploy", "fleet.env.example"))
	if err != nil {
		t.Fatal(err)
	}
	all, secret := variables(t)
	for _, name := range secret {
		all = append(all, name+"_FILE")
	}
	for _, used := range regexp.MustCompile(`\$\{([A-Z_]+)`).FindAllStringSubmatch(string(file), -1) {
		if slices.Contains(all, used[1]) && !regexp.MustCompile(`(?m)^`+used[1]+`=`).Match(example) {
			t.Errorf("deploy/fleet.env.example has no %s", used[1])
		}
	}
}

// Where nothing is named nothing is read: an empty file that a variable names is a
// mistake to the program.
func TestNothingIsNamedUnlessItIsThere(t *testing.T) {
	p := compose(t, variablesOf(t, "deploy", "fleet.env.example"))
	for _, name := range []string{"FILING_FEES", "FILING_NOTIFY_FILE", "FILING_WEBHOOK_SECRET_FILE"} {
		if v := p.Services["worker"].Environment[name]; v == nil || *v != "" {
			t.Errorf("%s=%v", name, v)
		}
	}
	for _, c := range p.Configs {
		if _, err := os.Stat(c.File); err != nil {
			t.Error(err)
		}
	}
}
