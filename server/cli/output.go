package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// outputFormat is the value of -o.
type outputFormat string

const (
	formatText outputFormat = "text"
	formatJSON outputFormat = "json"
	formatYAML outputFormat = "yaml"
)

// register adds the flag -o with the formats of a command. The first one is the default.
func (f *outputFormat) register(flags *pflag.FlagSet, known ...outputFormat) {
	*f = known[0]
	flags.VarP(&formatFlag{value: f, known: known}, "output", "o", "print as "+joinFormats(known))
}

// allFormats are the formats of all commands.
func allFormats() []outputFormat {
	return []outputFormat{formatText, formatJSON, formatYAML, formatGitHub, formatSARIF, formatMermaid, formatDOT, formatJUnit, formatMarkdown}
}

// formatFlag is an outputFormat that rejects formats which the command cannot print.
type formatFlag struct {
	value *outputFormat
	known []outputFormat
}

func (f *formatFlag) String() string { return string(*f.value) }
func (f *formatFlag) Type() string   { return "FORMAT" }

// ofOthers reports whether only other commands can print the format.
func (f *formatFlag) ofOthers(text string) bool {
	return !slices.Contains(f.known, outputFormat(text)) && slices.Contains(allFormats(), outputFormat(text))
}

func (f *formatFlag) Set(text string) error {
	if !slices.Contains(f.known, outputFormat(text)) {
		return fmt.Errorf("must be %s", joinFormats(f.known))
	}
	*f.value = outputFormat(text)
	return nil
}

func joinFormats(formats []outputFormat) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = string(format)
	}
	return strings.Join(names, ", ")
}

// writeValue prints a value as JSON or YAML. Both use the names of the JSON tags.
func writeValue(w io.Writer, format outputFormat, value any) error {
	if format == formatYAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		_, err = w.Write(text)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
