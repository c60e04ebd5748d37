package cli

import (
	"bytes"
	"strings"
	"testing"
)

// A console shows a place in one piece, as editors open it, and no empty field.
func TestTheConsoleShowsPlacesInOnePiece(t *testing.T) {
	var out bytes.Buffer
	log, err := logOptions{format: "console", level: "info"}.logger(&out)
	if err != nil {
		t.Fatal(err)
	}
	log.Error().Str("code", "UnknownField").Str("file", "site.yaml").Int("line", 53).Int("column", 71).
		Str("object", "Service a").Str("field", "spec.x").Str("identity", "").Msg("unknown field")
	if _, line, _ := strings.Cut(out.String(), "ERR "); line != "site.yaml:53:71: unknown field object=\"Service a\" field=spec.x code=UnknownField\n" {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	log.Error().Str("file", "site.yaml").Int("line", 53).Msg("without a column")
	if _, line, _ := strings.Cut(out.String(), "ERR "); line != "site.yaml:53: without a column\n" {
		t.Errorf("got %q", out.String())
	}
}
