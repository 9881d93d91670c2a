// Checks Workflows as Argo itself does before it takes one, and says of each file what is wrong with it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-workflows/v3/pkg/apis/workflow/v1alpha1"
	"github.com/argoproj/argo-workflows/v3/workflow/validate"
	"sigs.k8s.io/yaml"
)

// Problems of a file; empty if Argo takes it.
func problem(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var workflow v1alpha1.Workflow
	if err := yaml.UnmarshalStrict(text, &workflow); err != nil {
		return err.Error()
	}
	if err := validate.ValidateWorkflow(nil, nil, &workflow, nil, validate.ValidateOpts{Lint: true}); err != nil {
		return err.Error()
	}
	return ""
}

func main() {
	found := map[string]string{}
	for _, path := range os.Args[1:] {
		found[path] = problem(path)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
