package deploy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "copy the alerts and the dashboard into the chart")

var chartFolder = filepath.Join(root, "deploy", "helm", "bulkfiling")

// manifest is an object of the chart, with its text.
type manifest struct {
	file   string
	text   []byte
	object any
}

// valuesFile reads a file of values of the chart's folder ci.
func valuesFile(t *testing.T, name string) map[string]any {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join(chartFolder, "ci", name+"-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// setValue sets the value at a path such as worker.replicas.
func setValue(values map[string]any, at string, value any) {
	keys := strings.Split(at, ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := values[key].(map[string]any)
		if !ok {
			inner = make(map[string]any)
			values[key] = inner
		}
		values = inner
	}
	values[keys[len(keys)-1]] = value
}

// render makes what helm install would send, as texts by file.
func render(values map[string]any) (map[string]string, error) {
	c, err := loader.LoadDir(chartFolder)
	if err != nil {
		return nil, err
	}
	return renderChart(c, values)
}

func renderChart(c *chart.Chart, values map[string]any) (map[string]string, error) {
	all, err := chartutil.ToRenderValues(c, values,
		chartutil.ReleaseOptions{Name: "filings", Namespace: "accounting", Revision: 1, IsInstall: true},
		chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// installed are the objects of the chart with such values, each of its API.
func installed(t *testing.T, values map[string]any) (objects []manifest, notes string) {
	t.Helper()
	files, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if path.Base(file) == "NOTES.txt" {
			notes = files[file]
			continue
		}
		for _, text := range regexp.MustCompile(`(?m)^---$`).Split(files[file], -1) {
			if !regexp.MustCompile(`(?m)^kind:`).MatchString(text) {
				continue
			}
			object, err := decode([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, text)
			}
			checkPublishedSchema(t, []byte(text))
			objects = append(objects, manifest{path.Base(file), []byte(text), object})
		}
	}
	return objects, notes
}

// pick returns the only object of its kind whose name ends so.
func pick[T metav1.Object](t *testing.T, objects []manifest, suffix string) T {
	t.Helper()
	var found []T
	for _, m := range objects {
		if o, ok := m.object.(T); ok && strings.HasSuffix(o.GetName(), suffix) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects %T are called …%s", len(found), *new(T), suffix)
	}
	return found[0]
}

// TestChartHasNoLint runs what helm lint runs, with each file of values.
func TestChartHasNoLint(t *testing.T) {
	for _, name := range []string{"minimal", "all"} {
		linter := lint.All(chartFolder, valuesFile(t, name), "accounting", true)
		for _, message := range linter.Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}

// TestChartFitsTogether renders the chart with the least and with every value, and
// checks every object and every reference between them.
func TestChartFitsTogether(t *testing.T) {
	kinds := map[string]string{
		"minimal": "ConfigMap 1, Deployment 2, NetworkPolicy 3, Pod 1, PodDisruptionBudget 2, Service 1",
		"all": "ConfigMap 2, Deployment 2, HorizontalPodAutoscaler 1, Ingress 1, NetworkPolicy 3, Pod 1, " +
			"PodDisruptionBudget 2, PodMonitor 1, PrometheusRule 1, Service 1",
	}
	for name, want := range kinds {
		t.Run(name, func(t *testing.T) {
			objects, notes := installed(t, valuesFile(t, name))
			counts := make(map[string]int)
			for _, m := range objects {
				counts[reflect.TypeOf(m.object).Elem().Name()]++
			}
			var got []string
			for _, kind := range slices.Sorted(maps.Keys(counts)) {
				got = append(got, fmt.Sprintf("%s %d", kind, counts[kind]))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("the objects are %s", strings.Join(got, ", "))
			}
			for _, suffix := range []string{"-worker", "-server"} {
				checkSelected(t, objects, pick[*appsv1.Deployment](t, objects, suffix))
			}
			checkDrain(t, objects)
			for _, text := range []string{"kubectl -n accounting create secret generic",
				"helm -n accounting test filings", "--role operator,approver,preparer"} {
				if !strings.Contains(notes, text) {
					t.Errorf("the notes lack %q:\n%s", text, notes)
				}
			}
		})
	}
}

// checkSelected checks that what belongs to the pods of a deployment selects them,
// and nothing of the other deployment.
func checkSelected(t *testing.T, objects []manifest, d *appsv1.Deployment) {
	t.Helper()
	suffix := d.Name[strings.LastIndex(d.Name, "-"):]
	own := labels.Set(d.Spec.Template.Labels)
	foreign := labels.Set(pick[*appsv1.Deployment](t, objects,
		map[string]string{"-worker": "-server", "-server": "-worker"}[suffix]).Spec.Template.Labels)
	check := func(what string, of *metav1.LabelSelector) {
		selector, err := metav1.LabelSelectorAsSelector(of)
		if err != nil || !selector.Matches(own) || selector.Matches(foreign) {
			t.Errorf("%s of %s selects %v: %v", what, d.Name, selector, err)
		}
	}
	check("the selector", d.Spec.Selector)
	check("the budget", pick[*policyv1.PodDisruptionBudget](t, objects, suffix).Spec.Selector)
	check("the network policy", &pick[*networkingv1.NetworkPolicy](t, objects, suffix).Spec.PodSelector)
	check("the spread", d.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector)
	for _, m := range objects {
		switch o := m.object.(type) {
		case *corev1.Service:
			if suffix == "-server" {
				check("the service", &metav1.LabelSelector{MatchLabels: o.Spec.Selector})
				if !hasPort(d.Spec.Template, o.Spec.Ports[0].TargetPort) {
					t.Error("the service leads nowhere")
				}
			}
		case *networkingv1.Ingress:
			to := o.Spec.Rules[0].HTTP.Paths[0].Backend.Service
			if service := pick[*corev1.Service](t, objects, "-server"); to.Name != service.Name ||
				to.Port.Name != service.Spec.Ports[0].Name {
				t.Errorf("the ingress leads to %+v", to)
			}
		case *autoscalingv2.HorizontalPodAutoscaler:
			if worker := pick[*appsv1.Deployment](t, objects, "-worker"); o.Spec.ScaleTargetRef.Name != worker.Name ||
				worker.Spec.Replicas != nil {
				t.Errorf("%+v is scaled, beside %v replicas", o.Spec.ScaleTargetRef, worker.Spec.Replicas)
			}
		case *monitoringv1.PodMonitor:
			if suffix == "-worker" {
				check("the pod monitor", &o.Spec.Selector)
			}
		}
	}
	checkPod(t, d.Name, d.Spec.Template)
}

// checkDrain checks that a new worker is there before an old one goes, and that the
// old one has the time to record its answers.
func checkDrain(t *testing.T, objects []manifest) {
	t.Helper()
	worker := pick[*appsv1.Deployment](t, objects, "-worker")
	timeout, err := time.ParseDuration(pick[*corev1.ConfigMap](t, objects, "bulkfiling").Data["FILING_TIMEOUT"])
	if err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(*worker.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
	if want := timeout + margin + 20*time.Second; grace != want {
		t.Errorf("the grace is %v, want %v for a timeout of %v", grace, want, timeout)
	}
	for _, d := range []*appsv1.Deployment{worker, pick[*appsv1.Deployment](t, objects, "-server")} {
		if rolling := d.Spec.Strategy.RollingUpdate; rolling.MaxUnavailable.IntVal != 0 || rolling.MaxSurge.IntVal < 1 {
			t.Errorf("%s is updated with %+v", d.Name, rolling)
		}
	}
}

// TestChartOptionsTakeEffect checks what each option changes.
func TestChartOptionsTakeEffect(t *testing.T) {
	objects, notes := installed(t, valuesFile(t, "all"))
	worker := pick[*appsv1.Deployment](t, objects, "-worker")
	server := pick[*appsv1.Deployment](t, objects, "-server")
	hpa := pick[*autoscalingv2.HorizontalPodAutoscaler](t, objects, "-worker")
	settings := pick[*corev1.ConfigMap](t, objects, "bulkfiling").Data
	ingress := pick[*networkingv1.Ingress](t, objects, "-server")
	monitor := pick[*monitoringv1.PodMonitor](t, objects, "-worker")
	pod := worker.Spec.Template.Spec
	for what, got := range map[string][2]any{
		"image": {pod.Containers[0].Image, "registry.example.com/filings/bulkfiling@sha256:" +
			"0f063af2d465d8dcae54cce04278ada488b96f77b42449c8d071e47d016cc65a"},
		"pull secret":         {pod.ImagePullSecrets[0].Name, "registry"},
		"user":                {*pod.SecurityContext.RunAsUser, int64(1000)},
		"priority":            {pod.PriorityClassName, "filings"},
		"node selector":       {pod.NodeSelector["kubernetes.io/arch"], "amd64"},
		"tolerations":         {pod.Tolerations[0].Key, "filings"},
		"affinity":            {pod.Affinity.NodeAffinity != nil, true},
		"label":               {worker.Spec.Template.Labels["example.com/cost-center"], "42"},
		"annotation":          {worker.Spec.Template.Annotations["example.com/team"], "filings"},
		"servers":             {*server.Spec.Replicas, int32(3)},
		"least workers":       {*hpa.Spec.MinReplicas, int32(3)},
		"most workers":        {hpa.Spec.MaxReplicas, int32(12)},
		"metric":              {hpa.Spec.Metrics[0].External.Metric.Name, "bulkfiling_rows_to_send"},
		"rows per worker":     {hpa.Spec.Metrics[0].External.Target.AverageValue.String(), "250"},
		"address of the page": {settings["PUBLIC_URL"], "https://filings.example.com"},
		"fees":                {settings["FILING_FEES"], "/etc/bulkfiling/state-fees.csv"},
		"backups":             {settings["FILING_BACKUP_DIR"], "/backups"},
		"notifications":       {settings["FILING_NOTIFY_FILE"], "/run/secrets/bulkfiling/filing_notify"},
		"signing secret": {settings["FILING_WEBHOOK_SECRET_FILE"],
			"/run/secrets/bulkfiling/filing_webhook_secret"},
		"passphrase": {settings["FILING_BACKUP_PASSPHRASE_FILE"],
			"/run/secrets/bulkfiling/filing_backup_passphrase"},
		"provider's secret": {settings["OIDC_CLIENT_SECRET_FILE"], "/run/secrets/bulkfiling/oidc_client_secret"},
		"headers of traces": {settings["OTEL_EXPORTER_OTLP_HEADERS_FILE"], "/run/secrets/bulkfiling/otel_headers"},
		"certificate":       {ingress.Spec.TLS[0].SecretName, "filings-tls"},
		"class":             {*ingress.Spec.IngressClassName, "nginx"},
		"job":               {*monitor.Spec.PodMetricsEndpoints[0].RelabelConfigs[0].Replacement, "bulkfiling-worker"},
		"live":              {strings.Contains(notes, "LIVE:"), true},
		"optional key":      {strings.Contains(notes, "--from-file=oidc_client_secret"), true},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
	if _, notes := installed(t, valuesFile(t, "minimal")); strings.Contains(notes, "LIVE:") {
		t.Error("the notes of a test installation call it live")
	}
	checkOff(t)
}

// checkOff checks that what can be switched off is gone then.
func checkOff(t *testing.T) {
	t.Helper()
	values := valuesFile(t, "all")
	for _, at := range []string{"worker.podDisruptionBudget.enabled", "server.podDisruptionBudget.enabled",
		"worker.autoscaling.enabled", "ingress.enabled", "networkPolicy.enabled", "monitoring.podMonitor.enabled",
		"monitoring.prometheusRule.enabled", "monitoring.dashboard.enabled"} {
		setValue(values, at, false)
	}
	objects, _ := installed(t, values)
	for _, m := range objects {
		switch m.object.(type) {
		case *appsv1.Deployment, *corev1.Service, *corev1.ConfigMap, *corev1.Pod:
		default:
			t.Errorf("%T is there", m.object)
		}
	}
	if worker := pick[*appsv1.Deployment](t, objects, "-worker"); *worker.Spec.Replicas != 4 ||
		worker.Spec.Template.Annotations["prometheus.io/port"] != "8081" {
		t.Errorf("the workers are %+v", worker.Spec)
	}
}

// TestChartRestartsForChangedSettings checks that a changed setting changes the
// pods, and that the same settings do not.
func TestChartRestartsForChangedSettings(t *testing.T) {
	template := func(rate string) string {
		values := valuesFile(t, "minimal")
		setValue(values, "settings.FILING_RATE", rate)
		objects, _ := installed(t, values)
		text, err := json.Marshal(pick[*appsv1.Deployment](t, objects, "-worker").Spec.Template)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if before, after, again := template("10"), template("20"), template("10"); before == after || before != again {
		t.Error("a changed setting does not restart the workers, or an unchanged one does")
	}
}

// TestChartRefusesBadValues checks that values which cannot be meant are refused,
// each by its name.
func TestChartRefusesBadValues(t *testing.T) {
	if _, err := render(nil); err == nil || !strings.Contains(err.Error(), "FILING_BASE_URL") {
		t.Errorf("without an address of the filing service: %v", err)
	}
	tooLarge := strings.Repeat("9", 4)
	for _, c := range []struct {
		at    string
		value any
		named string
	}{
		{"settings.FILING_API_KEY", "sk_live_1", "FILING_API_KEY"},
		{"settings.DATABASE_URL", "postgres://a:b@c/d", "DATABASE_URL"},
		{"secrets.filing_api_key", "sk_live_1", "filing_api_key"},
		{"secrets.filing_notify", "https://hooks.example.com/secret", "filing_notify"},
		{"secrets.existingSecret", "", "existingSecret"},
		{"settings.FILING_BASE_URL", "https://user:secret@api.example.com", "FILING_BASE_URL"},
		{"settings.FILING_BASE_URL", "api.example.com", "FILING_BASE_URL"},
		{"settings.FILING_LIVE", true, "FILING_LIVE"},
		{"settings.FILING_LIVE", "yes", "FILING_LIVE"},
		{"settings.FILING_RATE", "fast", "FILING_RATE"},
		{"settings.FILING_TIMEOUT", "30", "FILING_TIMEOUT"},
		{"settings.FILING_TIMEOUT", "", "FILING_TIMEOUT"},
		{"settings.WORKER_CONCURRENCY", "0", "WORKER_CONCURRENCY"},
		{"settings.WORKER_CONCURRENCY", tooLarge, "WORKER_CONCURRENCY"},
		{"settings.UNKNOWN", "1", "UNKNOWN"},
		{"worker.replica", 3, "replica"},
		{"worker.replicas", "3", "replicas"},
		{"worker.replicas", -1, "replicas"},
		{"worker.terminationGracePeriodSeconds", 40, "drains for up to 40 seconds"},
		{"worker.autoscaling", map[string]any{"enabled": true, "minReplicas": 5, "maxReplicas": 2},
			"less than minReplicas"},
		{"worker.autoscaling.rowsPerWorker", 0, "rowsPerWorker"},
		{"worker.podDisruptionBudget.maxUnavailable", 0, "maxUnavailable"},
		{"worker.resources.limits.memory", "lots", "memory"},
		{"server.service.type", "ExternalName", "type"},
		{"ingress", map[string]any{"enabled": true}, "host"},
		{"ingress.host", "https://filings.example.com", "host"},
		{"image.digest", "sha256:12", "digest"},
		{"image.repository", "", "repository"},
		{"podSecurityContext.runAsUser", 0, "runAsUser"},
		{"networkPolicy.data.cidrs", []any{"0.0.0.0/0"}, "cidrs"},
		{"networkPolicy.data.podLabels", map[string]any{"bulkfiling/data": nil}, "podLabels"},
		{"networkPolicy.extraEgress", []any{map[string]any{"ports": []any{}}}, "extraEgress"},
		{"monitoring.podMonitor.interval", "often", "interval"},
		{"redis.enabled", true, "redis"},
	} {
		values := valuesFile(t, "minimal")
		setValue(values, c.at, c.value)
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), c.named) {
			t.Errorf("%s = %v: %v", c.at, c.value, err)
		}
	}
}

// TestChartSchemaKnowsEveryValue checks that every value of values.yaml stands in
// the schema, and the other way round, so that a misspelt one is refused anywhere.
func TestChartSchemaKnowsEveryValue(t *testing.T) {
	c, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	definitions := schema["definitions"].(map[string]any)
	var walk func(at string, schema map[string]any, value any)
	walk = func(at string, schema map[string]any, value any) {
		if ref, ok := schema["$ref"].(string); ok {
			schema = definitions[path.Base(ref)].(map[string]any)
		}
		properties, ok := schema["properties"].(map[string]any)
		values, isMap := value.(map[string]any)
		if !ok || !isMap {
			return
		}
		if schema["additionalProperties"] != false {
			t.Errorf("the schema lets any name through at %s", at)
		}
		for name := range properties {
			if _, ok := values[name]; !ok && name != "global" {
				t.Errorf("values.yaml has no %s%s", at, name)
			}
		}
		for name, value := range values {
			inner, ok := properties[name].(map[string]any)
			if !ok {
				t.Errorf("the schema has no %s%s", at, name)
				continue
			}
			walk(at+name+".", inner, value)
		}
	}
	walk("", schema, c.Values)
}

// TestChartHoldsNoSecret checks that the chart makes no Secret and holds no value
// of one.
func TestChartHoldsNoSecret(t *testing.T) {
	for _, name := range []string{"minimal", "all"} {
		objects, _ := installed(t, valuesFile(t, name))
		for _, m := range objects {
			if _, ok := m.object.(*corev1.Secret); ok {
				t.Errorf("%s: %s makes a Secret", name, m.file)
			}
			for _, word := range []string{"sk_test_", "sk_live_", "postgres://", "redis://", "rediss://"} {
				if bytes.Contains(m.text, []byte(word)) {
					t.Errorf("%s: %s has %s", name, m.file, word)
				}
			}
		}
	}
}

// TestChartAgreesWithKustomize checks that the chart with its default values runs
// what deploy/kubernetes runs, so that neither drifts from the other.
func TestChartAgreesWithKustomize(t *testing.T) {
	chart, _ := installed(t, valuesFile(t, "minimal"))
	var kustomize []manifest
	for _, object := range built(t) {
		kustomize = append(kustomize, manifest{object: object})
	}
	ours := pick[*corev1.ConfigMap](t, chart, "bulkfiling").Data
	theirs := pick[*corev1.ConfigMap](t, kustomize, "bulkfiling").Data
	if got, want := slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(theirs)); !slices.Equal(got, want) {
		t.Errorf("the chart has the variables\n%v\nand kustomize\n%v", got, want)
	}
	for name, value := range theirs {
		if name != "PUBLIC_URL" && ours[name] != value {
			t.Errorf("%s is %q in the chart and %q in kustomize", name, ours[name], value)
		}
	}
	for _, suffix := range []string{"-worker", "-server"} {
		a, b := pick[*appsv1.Deployment](t, chart, suffix), pick[*appsv1.Deployment](t, kustomize, suffix)
		same(t, suffix+" replicas", a.Spec.Replicas, b.Spec.Replicas)
		one, two := a.Spec.Template.Spec, b.Spec.Template.Spec
		same(t, suffix+" grace", one.TerminationGracePeriodSeconds, two.TerminationGracePeriodSeconds)
		same(t, suffix+" user", one.SecurityContext, two.SecurityContext)
		same(t, suffix+" token", one.AutomountServiceAccountToken, two.AutomountServiceAccountToken)
		c, d := one.Containers[0], two.Containers[0]
		same(t, suffix+" command", c.Command, d.Command)
		same(t, suffix+" ports", c.Ports, d.Ports)
		same(t, suffix+" live", c.LivenessProbe, d.LivenessProbe)
		same(t, suffix+" ready", c.ReadinessProbe, d.ReadinessProbe)
		same(t, suffix+" started", c.StartupProbe, d.StartupProbe)
		same(t, suffix+" resources", c.Resources, d.Resources)
		same(t, suffix+" privileges", c.SecurityContext, d.SecurityContext)
		withoutFees := func(all []corev1.VolumeMount) []corev1.VolumeMount {
			return slices.DeleteFunc(all, func(m corev1.VolumeMount) bool { return m.Name == "files" })
		}
		same(t, suffix+" mounts", withoutFees(c.VolumeMounts), withoutFees(d.VolumeMounts))
		same(t, suffix+" egress", pick[*networkingv1.NetworkPolicy](t, chart, suffix).Spec.Egress,
			pick[*networkingv1.NetworkPolicy](t, kustomize, suffix).Spec.Egress)
	}
}

func same(t *testing.T, what string, chart, kustomize any) {
	t.Helper()
	if !reflect.DeepEqual(chart, kustomize) {
		a, _ := json.Marshal(chart)
		b, _ := json.Marshal(kustomize)
		t.Errorf("%s: the chart has\n%s\nand kustomize\n%s", what, a, b)
	}
}

// TestChartPodsReachFew checks the network policies of the chart as those of
// deploy/kubernetes are checked.
func TestChartPodsReachFew(t *testing.T) {
	objects, _ := installed(t, valuesFile(t, "minimal"))
	for _, suffix := range []string{"-worker", "-server"} {
		pod := pick[*appsv1.Deployment](t, objects, suffix).Spec.Template
		policy := pick[*networkingv1.NetworkPolicy](t, objects, suffix)
		if len(policy.Spec.PolicyTypes) != 2 {
			t.Errorf("%s is of %v", policy.Name, policy.Spec.PolicyTypes)
		}
		checkIngress(t, pod, policy.Spec.Ingress[0])
		for _, rule := range policy.Spec.Ingress[1:] {
			if test := pick[*corev1.Pod](t, objects, "-test"); len(rule.From) != 1 ||
				!labels.SelectorFromSet(rule.From[0].PodSelector.MatchLabels).Matches(labels.Set(test.Labels)) ||
				labels.SelectorFromSet(rule.From[0].PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)) {
				t.Errorf("%s lets in %+v", policy.Name, rule.From)
			}
		}
		for _, rule := range policy.Spec.Egress {
			checkEgress(t, policy.Name, rule)
		}
	}
	data := pick[*networkingv1.NetworkPolicy](t, objects, "-data").Spec.Ingress[0].From[0].PodSelector
	for _, suffix := range []string{"-worker", "-server"} {
		selector, err := metav1.LabelSelectorAsSelector(data)
		pods := pick[*appsv1.Deployment](t, objects, suffix).Spec.Template
		if err != nil || !selector.Matches(labels.Set(pods.Labels)) {
			t.Errorf("%s does not reach the data: %v", suffix, err)
		}
	}
}

// TestChartHasTheAlertsAndTheDashboard checks that the chart installs those of
// deploy/prometheus and deploy/grafana.
func TestChartHasTheAlertsAndTheDashboard(t *testing.T) {
	for copied, of := range map[string]string{"rules.yml": "prometheus/rules.yml",
		"dashboard.json": "grafana/dashboards/bulkfiling.json"} {
		original, err := os.ReadFile(filepath.Join(root, "deploy", of))
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(chartFolder, "files", copied)
		if *update {
			if err := os.WriteFile(at, original, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(at); err != nil || !bytes.Equal(text, original) {
			t.Errorf("%s differs from deploy/%s (%v): go -C tools/deploy test . -update", at, of, err)
		}
	}
	objects, _ := installed(t, valuesFile(t, "all"))
	var want monitoringv1.PrometheusRuleSpec
	text, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	same(t, "alerts", pick[*monitoringv1.PrometheusRule](t, objects, "").Spec, want)
	dashboard, err := os.ReadFile(filepath.Join(root, "deploy", "grafana", "dashboards", "bulkfiling.json"))
	if err != nil {
		t.Fatal(err)
	}
	installed := pick[*corev1.ConfigMap](t, objects, "-dashboard").Data["bulkfiling.json"]
	if strings.TrimSpace(installed) != strings.TrimSpace(string(dashboard)) {
		t.Error("the dashboard that is installed is another one")
	}
}
