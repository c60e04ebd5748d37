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
	return workflowCommand(level, p, p.Code, problemWords(p))
}

// problemWords returns the message and the hint of a problem.
func problemWords(p manifest.Problem) string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + "; " + p.Hint
}

// workflowCommand returns a workflow command of GitHub Actions for the place of a problem.
func workflowCommand(level string, at manifest.Problem, title, message string) string {
	place := fmt.Sprintf("title=%s", property(title))
	if at.File != "" {
		place = fmt.Sprintf("file=%s,line=%d,col=%d,%s", property(at.File), max(1, at.Line), max(1, at.Column), place)
	}
	return fmt.Sprintf("::%s %s::%s", level, place, escapes().Replace(visible.Text(message)))
}

// property escapes a value in the list of properties of a workflow command.
func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapes().Replace(visible.Text(text)))
}

func escapes() *strings.Replacer {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
}
