package deploy_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/yaml"
)

// matchPublished says what the schema that an API server publishes finds in a manifest:
// what the types of the API do not say is in it, such as which fields are required.
// client-go has a copy of the schemas.
func matchPublished(manifest []byte) error {
	text, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return err
	}
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		return err
	}
	group, version, named := strings.Cut(head.APIVersion, "/")
	path := "apis/" + head.APIVersion
	if !named {
		path, group, version = "api/"+head.APIVersion, "core", head.APIVersion
	}
	if paths[path] == nil {
		return nil // there is no copy of this one
	}
	schemas, err := paths[path].Schema("application/json")
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemas))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("memory:///api.json", document); err != nil {
		return err
	}
	group, _, _ = strings.Cut(group, ".")
	schema, err := compiler.Compile("memory:///api.json#/components/schemas/io.k8s.api." + group + "." + version + "." +
		head.Kind)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
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
		if err := matchPublished([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
