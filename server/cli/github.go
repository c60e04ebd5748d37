package cli

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
)

// formatGitHub is the format that prints a problem as a workflow command of GitHub Actions. GitHub shows the
// problem at its line in a pull request.
const formatGitHub outputFormat = "github"

// annotation returns a workflow command of GitHub Actions for a problem.
func annotation(p manifest.Problem) string {
	level := "error"
	if p.Severity == manifest.Warning {
		level = "warning"
	}
	return workflowCommand(level, p, p.Code, problemWords(p))
}

// problemWords returns the message of a problem, followed by its hint if it has one.
func problemWords(p manifest.Problem) string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + "; " + p.Hint
}

// workflowCommand returns a workflow command of GitHub Actions. The level is "error", "warning" or "notice". If the
// problem (the parameter at) has a file, the command has the file, line and column of the problem.
func workflowCommand(level string, at manifest.Problem, title, message string) string {
	place := fmt.Sprintf("title=%s", property(title))
	if at.File != "" {
		place = fmt.Sprintf("file=%s,line=%d,col=%d,%s", property(at.File), max(1, at.Line), max(1, at.Column), place)
	}
	return fmt.Sprintf("::%s %s::%s", level, place, escapes().Replace(visible.Text(message)))
}

// property escapes the value of a property in a workflow command.
func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapes().Replace(visible.Text(text)))
}

// escapes returns a replacer that escapes the message of a workflow command.
func escapes() *strings.Replacer {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
}
