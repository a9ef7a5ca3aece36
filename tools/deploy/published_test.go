package deploy_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/yaml"
)

// published compiles the schemas that an API server publishes, of which client-go
// has a copy: what the types of the API do not say is in them, such as which fields
// are required.
var published = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		return nil, err
	}
	schemas := make(map[string]*jsonschema.Schema)
	for api, prefix := range map[string]string{"api/v1": "io.k8s.api.core.v1.", "apis/apps/v1": "io.k8s.api.apps.v1."} {
		text, err := paths[api].Schema("application/json")
		if err != nil {
			return nil, err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		compiler := jsonschema.NewCompiler()
		url := "memory:///" + api + ".json"
		if err := compiler.AddResource(url, document); err != nil {
			return nil, err
		}
		for _, kind := range []string{"ConfigMap", "Secret", "Service", "Pod", "Deployment"} {
			if (kind == "Deployment") != strings.HasPrefix(api, "apis/apps") {
				continue
			}
			schema, err := compiler.Compile(url + "#/components/schemas/" + prefix + kind)
			if err != nil {
				return nil, err
			}
			schemas[strings.TrimPrefix(strings.TrimPrefix(api, "apis/"), "api/")+" "+kind] = schema
		}
	}
	return schemas, nil
})

// matchPublished says what the published schema of its kind finds in a manifest;
// checked reports whether there is one.
func matchPublished(manifest []byte) (checked bool, err error) {
	schemas, err := published()
	if err != nil {
		return false, err
	}
	text, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return false, err
	}
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(text, &head); err != nil {
		return false, err
	}
	schema, ok := schemas[head.APIVersion+" "+head.Kind]
	if !ok {
		return false, nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	return true, schema.Validate(value)
}

func checkPublishedSchema(t *testing.T, manifest []byte) {
	t.Helper()
	if _, err := matchPublished(manifest); err != nil {
		t.Errorf("%v\n%s", err, manifest)
	}
}

// TestPublishedSchemasRefuse checks that the published schemas find what the types
// of the API let through.
func TestPublishedSchemasRefuse(t *testing.T) {
	for text, good := range map[string]bool{
		"apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80}]}":                            true,
		"apiVersion: v1\nkind: Service\nspec: {ports: [{name: http}]}":                          false,
		"apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 1}":                            false,
		"apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, volumeMounts: [{name: b}]}]}": false,
		"apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, image: b}]}":                  true,
	} {
		if checked, err := matchPublished([]byte(text)); !checked || (err == nil) != good {
			t.Errorf("%s: checked %v, %v", text, checked, err)
		}
	}
}
