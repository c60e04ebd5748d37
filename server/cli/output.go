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

// outputFormat is the value of the flag -o.
type outputFormat string

const (
	formatText outputFormat = "text"
	formatJSON outputFormat = "json"
	formatYAML outputFormat = "yaml"
)

// register adds the flag -o with the formats that the command supports. The first format is the default.
func (f *outputFormat) register(flags *pflag.FlagSet, known ...outputFormat) {
	*f = known[0]
	flags.VarP(&formatFlag{value: f, known: known}, "output", "o", "print as "+joinFormats(known))
}

// formatFlag is the flag -o. It accepts only the formats that the command supports.
type formatFlag struct {
	value *outputFormat
	known []outputFormat
}

func (f *formatFlag) String() string { return string(*f.value) }
func (f *formatFlag) Type() string   { return "FORMAT" }

// Set sets the format. It returns an error if the command does not support it.
func (f *formatFlag) Set(text string) error {
	if !slices.Contains(f.known, outputFormat(text)) {
		return fmt.Errorf("must be %s", joinFormats(f.known))
	}
	*f.value = outputFormat(text)
	return nil
}

// joinFormats returns the names of formats, separated by commas.
func joinFormats(formats []outputFormat) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = string(format)
	}
	return strings.Join(names, ", ")
}

// writeValue prints a value as YAML if format is formatYAML, and otherwise as JSON. Both use the names in the
// JSON tags.
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
