package listen

import (
	"os"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/schema"
)

// TestOptionsOfKgateway reads each TLS option of kgateway: gatefold has it under its own name, or names what to do.
func TestOptionsOfKgateway(t *testing.T) {
	names, err := os.ReadFile("../../store/schema/kgateway/2.5.txt")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for line := range strings.Lines(string(names)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "option" {
			continue
		}
		read++
		own := strings.Replace(words[1], "kgateway.dev/", "gatefold.io/", 1)
		if hint, _ := schema.OptionNotServed(words[1]); (hint != "") == (own == OptionVersion || own == optionALPN) {
			t.Errorf("%s: %q", words[1], hint)
		}
	}
	if read == 0 {
		t.Error("no option is listed")
	}
}
