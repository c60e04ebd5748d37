package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/store"
)

// settingsSchema returns the JSON Schema (draft 7) of a settings file.
func settingsSchema() map[string]any {
	properties := map[string]any{}
	settingFlags().VisitAll(func(f *pflag.Flag) {
		property := map[string]any{"description": settingWords(f)}
		switch settingKind(f) {
		case store.BooleanSetting:
			property["type"] = "boolean"
		case store.NumberSetting:
			property["type"] = "integer"
			if f.Value.Type() == percentageType {
				property["type"] = "number"
			}
		case store.ListSetting:
			property["type"], property["items"] = "array", map[string]any{"type": "string"}
		case store.TextSetting:
			property["type"] = "string"
		}
		properties[f.Name] = property
	})
	return map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "The settings of gatefold",
		"type": "object", "properties": properties, "additionalProperties": false,
	}
}

// settingWords returns the help of a flag without its environment variables.
func settingWords(f *pflag.Flag) string {
	words, _, _ := strings.Cut(f.Usage, " [$")
	return strings.ReplaceAll(words, "\n", " ")
}
