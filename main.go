// Gatefold is a gateway control plane without Kubernetes: it watches a folder
// of Gateway API YAML and keeps Envoy configured by it over xDS.
package main

import (
	"os"

	"github.com/gatefold/gatefold/server/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
