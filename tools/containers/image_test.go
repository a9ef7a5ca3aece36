package containers

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestContainers runs one after another, on one engine, what needs the image.
func TestContainers(t *testing.T) {
	if os.Getenv(inside) == "" {
		t.Skip("it needs an engine: make containers")
	}
	e := startEngine(t)
	e.must(run(e.compose("build")))
	e.step("the folders that the commands write to", (*engine).checkFolders)
	e.step("a whole run without rights", (*engine).checkRun)
	t.Cleanup(e.down)
	e.step("the demo", (*engine).checkDemo)
	if t.Failed() {
		t.FailNow()
	}
	e.client = e.signIn("ana")
	e.step("events", (*engine).checkEvents)
	e.step("the page", (*engine).checkPage)
	e.step("Prometheus", func(e *engine) { e.checkPrometheus(1) })
	e.step("a larger fleet", (*engine).checkFleet)
}

// down ends the fleet. After a failure its logs say why.
func (e *engine) down() {
	if e.Failed() {
		out, _ := output(e.compose("logs", "--tail", "60"))
		e.Logf("the logs:\n%s", out)
	}
	if err := run(e.compose("down", "-v", "--timeout", "5", "--remove-orphans")); err != nil {
		e.Error(err)
	}
}

// image is what the checkout builds.
const image = "bulkfiling:dev"

// step is a part of a test. Its failure does not keep the others from running.
func (e *engine) step(name string, do func(*engine)) {
	e.Run(name, func(t *testing.T) {
		part := *e
		part.T = t
		do(&part)
	})
}

// compose is a command of Compose in the checkout, for the demo.
func (e *engine) compose(args ...string) cmd {
	c := command(root, e.path("compose"), append([]string{"--env-file", "deploy/demo/fleet.env"}, args...)...)
	return c.env("DOCKER_HOST=unix://"+e.path("docker.sock"), "DOCKER_CONFIG="+e.path("config"))
}

// checkFolders looks at the modes of the folders that a volume and a tmpfs take
// theirs from.
func (e *engine) checkFolders() {
	id := e.said(e.docker("create", image))
	defer func() { e.must(run(e.docker("rm", id))) }()
	archive, err := output(e.docker("export", id))
	e.must(err)
	want := map[string]int64{"data": 0o700, "tmp": 0o1777}
	for files := tar.NewReader(strings.NewReader(archive)); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		e.must(err)
		name := strings.Trim(file.Name, "/")
		if mode, ok := want[name]; ok {
			if file.Mode&0o7777 != mode || file.Uid != 65532 {
				e.Errorf("/%s has the mode %o and the owner %d, want %o of 65532", name, file.Mode&0o7777,
					file.Uid, mode)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		e.Errorf("the image has no %v", want)
	}
}

// checkRun has the image run the README's demo as docker-compose.yml runs it: it
// reads, orders and writes workbooks.
func (e *engine) checkRun() {
	out := e.said(e.docker("run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", image, "/importer", "demo", "--dir", "/tmp/demo"))
	if !strings.Contains(out, "; 0 filings bought twice;") || !strings.Contains(out, "\n53 orders, ") {
		e.Errorf("the demo said:\n%s", out)
	}
}
