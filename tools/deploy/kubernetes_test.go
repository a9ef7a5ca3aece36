package deploy_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kinds are those that the manifests may use.
var kinds = map[string]func() any{
	"networking.k8s.io/v1 NetworkPolicy": func() any { return new(networkingv1.NetworkPolicy) },
	"v1 ConfigMap":                       func() any { return new(corev1.ConfigMap) },
	"v1 Secret":                          func() any { return new(corev1.Secret) },
	"v1 Service":                         func() any { return new(corev1.Service) },
	"apps/v1 Deployment":                 func() any { return new(appsv1.Deployment) },
	"policy/v1 PodDisruptionBudget":      func() any { return new(policyv1.PodDisruptionBudget) },
}

// decode reads a manifest into the type of the API, and refuses any field that
// it does not have.
func decode(manifest []byte) (any, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(manifest, &head); err != nil {
		return nil, err
	}
	newObject, known := kinds[head.APIVersion+" "+head.Kind]
	if !known {
		return nil, fmt.Errorf("a manifest of %s %s", head.APIVersion, head.Kind)
	}
	object := newObject()
	return object, yaml.UnmarshalStrict(manifest, object)
}

// built is what kustomize makes of deploy/kubernetes.
func built(t *testing.T) []any {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		filepath.Join(root, "deploy", "kubernetes"))
	if err != nil {
		t.Fatal(err)
	}
	var objects []any
	for _, resource := range made.Resources() {
		manifest, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, err := decode(manifest)
		if err != nil {
			t.Fatalf("%s: %v", resource.CurId(), err)
		}
		if err := matchPublished(manifest); err != nil {
			t.Errorf("%v\n%s", err, manifest)
		}
		objects = append(objects, object)
	}
	return objects
}

func TestManifestsAreOfTheAPI(t *testing.T) {
	if got := len(built(t)); got != 9 {
		t.Errorf("%d objects", got)
	}
	example, err := os.ReadFile(filepath.Join(root, "deploy", "kubernetes", "secret.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(example); err != nil {
		t.Errorf("the example of a Secret: %v", err)
	}
	if _, err := decode([]byte("apiVersion: v1\nkind: Service\nspec: {port: 80}\n")); err == nil {
		t.Error("an unknown field is let through")
	}
}

func TestManifestsFitTogether(t *testing.T) {
	config := make(map[string]string)
	pods := make(map[string]corev1.PodTemplateSpec)
	objects := built(t)
	for _, object := range objects {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			config = o.Data
		case *appsv1.Deployment:
			for name, value := range o.Spec.Selector.MatchLabels {
				if o.Spec.Template.Labels[name] != value {
					t.Errorf("%s does not select its own pods", o.Name)
				}
			}
			pods[o.Spec.Template.Labels["app.kubernetes.io/name"]] = o.Spec.Template
		}
	}
	for _, object := range objects {
		switch o := object.(type) {
		case *corev1.Service:
			pod, ok := pods[o.Spec.Selector["app.kubernetes.io/name"]]
			if !ok || !hasPort(pod, o.Spec.Ports[0].TargetPort) {
				t.Errorf("the service %s leads nowhere", o.Name)
			}
		case *policyv1.PodDisruptionBudget:
			if _, ok := pods[o.Spec.Selector.MatchLabels["app.kubernetes.io/name"]]; !ok {
				t.Errorf("the budget %s is of no pods", o.Name)
			}
		}
	}
	for name, pod := range pods {
		checkPod(t, name, pod)
	}

	// The timeout of a request < the drain < the grace period of the pod.
	timeout, err := time.ParseDuration(config["FILING_TIMEOUT"])
	if err != nil {
		t.Fatal(err)
	}
	grace := time.Duration(*pods["bulkfiling-worker"].Spec.TerminationGracePeriodSeconds) * time.Second
	if grace <= timeout+margin {
		t.Errorf("the grace is %v, a drain takes up to %v", grace, timeout+margin)
	}
}

// checkPod checks the probes, the user and the volumes of a pod.
func checkPod(t *testing.T, name string, pod corev1.PodTemplateSpec) {
	t.Helper()
	c := pod.Spec.Containers[0]
	for what, probe := range map[string]*corev1.Probe{"live": c.LivenessProbe, "ready": c.ReadinessProbe} {
		if probe == nil || !hasPort(pod, probe.HTTPGet.Port) {
			t.Errorf("%s: no probe whether it is %s", name, what)
		}
	}
	if s := pod.Spec.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 {
		t.Errorf("%s runs as root", name)
	}
	mounted := make(map[string]bool)
	for _, v := range pod.Spec.Volumes {
		mounted[v.Name] = true
		if v.Secret != nil && *v.Secret.DefaultMode != 0o440 {
			t.Errorf("%s: its secrets have mode %o", name, *v.Secret.DefaultMode)
		}
	}
	for _, m := range c.VolumeMounts {
		if !mounted[m.Name] {
			t.Errorf("%s mounts %s, which does not exist", name, m.Name)
		}
	}
}

func hasPort(pod corev1.PodTemplateSpec, port intstr.IntOrString) bool {
	for _, p := range pod.Spec.Containers[0].Ports {
		if p.Name == port.StrVal || port.StrVal == "" && p.ContainerPort == port.IntVal {
			return true
		}
	}
	return false
}

// Every pod is open only where it needs to be, and none reaches private addresses
// or those of a cloud's metadata.
func TestPodsReachAndAreReachedByFew(t *testing.T) {
	closed := make(map[string]networkingv1.NetworkPolicySpec)
	var pods []corev1.PodTemplateSpec
	for _, object := range built(t) {
		switch o := object.(type) {
		case *networkingv1.NetworkPolicy:
			closed[o.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"]] = o.Spec
		case *appsv1.Deployment:
			pods = append(pods, o.Spec.Template)
		}
	}
	if len(pods) != 2 {
		t.Fatalf("%d kinds of pods", len(pods))
	}
	for _, pod := range pods {
		name := pod.Labels["app.kubernetes.io/name"]
		spec, found := closed[name]
		if !found || len(spec.PolicyTypes) != 2 || len(spec.Ingress) != 1 {
			t.Errorf("%s is open: %+v", name, spec)
			continue
		}
		checkIngress(t, pod, spec.Ingress[0])
		for _, rule := range spec.Egress {
			checkEgress(t, name, rule)
		}
	}
}

// checkIngress checks that a pod is open to named namespaces only, at its port.
func checkIngress(t *testing.T, pod corev1.PodTemplateSpec, rule networkingv1.NetworkPolicyIngressRule) {
	t.Helper()
	name := pod.Labels["app.kubernetes.io/name"]
	for _, from := range rule.From {
		if from.NamespaceSelector == nil || len(from.NamespaceSelector.MatchLabels) == 0 {
			t.Errorf("%s lets in %+v", name, from)
		}
	}
	if len(rule.Ports) != 1 || !hasPort(pod, *rule.Ports[0].Port) {
		t.Errorf("%s is open at %+v", name, rule.Ports)
	}
}

// checkEgress checks that a rule opens known ports only, and no private address.
func checkEgress(t *testing.T, name string, rule networkingv1.NetworkPolicyEgressRule) {
	t.Helper()
	if len(rule.To) == 0 || len(rule.Ports) == 0 {
		t.Errorf("%s reaches every address: %+v", name, rule)
	}
	for _, to := range rule.To {
		if to.IPBlock == nil {
			continue
		}
		for _, inside := range []string{"10.1.2.3", "169.254.169.254", "127.0.0.1", "192.168.1.1",
			"172.20.0.1", "100.100.100.200", "fd00:ec2::254", "::1"} {
			if reaches(t, to.IPBlock, netip.MustParseAddr(inside)) {
				t.Errorf("%s reaches %s", name, inside)
			}
		}
	}
	for _, port := range rule.Ports {
		if !slices.Contains([]int32{53, 443, 465, 587, 5432, 6379}, port.Port.IntVal) {
			t.Errorf("%s reaches port %v", name, port.Port)
		}
	}
}

func reaches(t *testing.T, block *networkingv1.IPBlock, to netip.Addr) bool {
	t.Helper()
	contains := func(text string) bool {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		return prefix.Contains(to)
	}
	return contains(block.CIDR) && !slices.ContainsFunc(block.Except, contains)
}

// A pod has the memory that its service has in the compose file, and asks for
// no more than it may have.
func TestMemoryLimitsAgree(t *testing.T) {
	project := demo(t)
	seen := 0
	for _, object := range built(t) {
		d, ok := object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			service, ok := project.Services[c.Name]
			if !ok {
				continue
			}
			seen++
			limit := c.Resources.Limits.Memory().Value()
			if limit <= 0 || limit != int64(service.MemLimit) {
				t.Errorf("%s: %d bytes in the manifest, %d in the compose file", c.Name, limit, service.MemLimit)
			}
			if request := c.Resources.Requests.Memory().Value(); request <= 0 || request > limit {
				t.Errorf("%s asks for %d bytes of %d", c.Name, request, limit)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d containers are in both", seen)
	}
}
