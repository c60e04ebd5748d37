package cli

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
)

// formatGitHub prints a problem as a workflow command of GitHub Actions, which
// shows it beside the line that a pull request changes.
const formatGitHub outputFormat = "github"

func annotation(p manifest.Problem) string {
	level := "error"
	if p.Severity == manifest.Warning {
		level = "warning"
	}
	place := fmt.Sprintf("title=%s", property(p.Code))
	if p.File != "" {
		place = fmt.Sprintf("file=%s,line=%d,col=%d,%s", property(p.File), max(1, p.Line), max(1, p.Column), place)
	}
	message := p.Message
	if p.Hint != "" {
		message += "; " + p.Hint
	}
	return fmt.Sprintf("::%s %s::%s", level, place, escapes().Replace(visible.Text(message)))
}

// property escapes a value inside the list of properties.
func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapes().Replace(visible.Text(text)))
}

func escapes() *strings.Replacer {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
}
