package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/cases"
	"github.com/gatefold/gatefold/translate/xds"
)

// TestTablesOfManyTLSNamesAreLinear guards against tables that each name all other listeners of a port:
// one folder of teams could fill the memory of the Envoys of all.
func TestTablesOfManyTLSNamesAreLinear(t *testing.T) {
	few, many := bytesOfTables(t, 300), bytesOfTables(t, 600)
	if many > 2*few+few/10 {
		t.Errorf("the tables of 300 HTTPS listeners take %d bytes, those of 600 take %d", few, many)
	}
}

// bytesOfTables returns how many bytes the tables of a port with HTTPS listeners take in all.
func bytesOfTables(t *testing.T, listeners int) (size int) {
	t.Helper()
	all, err := cases.Load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, c := range all {
		if secrets, found := c.File("in/secrets.yaml"); found && c.Name == "https-many-names" {
			files["secrets.yaml"] = []byte(secrets)
		}
	}
	var text strings.Builder
	text.WriteString("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\nspec: {gatewayClassName: gatefold, allowedListeners: {namespaces: {from: Same}}, " +
		"listeners: [{name: wild, port: 8443, protocol: HTTPS, hostname: '*.example.com', tls: {certificateRefs: [{name: wild}]}}]}\n")
	for i := range listeners {
		if i%50 == 0 {
			fmt.Fprintf(&text, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s%d}\nspec:\n  parentRef: {name: eg}\n  listeners:\n", i)
		}
		fmt.Fprintf(&text, "  - {name: l%d, port: 8443, protocol: HTTPS, hostname: h%d.example.com, tls: {certificateRefs: [{name: wild}]}}\n", i, i)
	}
	files["all.yaml"] = []byte(text.String())
	w, tables := newWorld(t), 0
	w.apply(cases.Tree(files))
	for _, update := range w.resources {
		if update.Resource.Type == xds.RouteType {
			size += len(update.Resource.Body)
			tables++
		}
	}
	if tables != listeners+1 {
		t.Fatalf("%d listeners have %d tables", listeners+1, tables)
	}
	return size
}
