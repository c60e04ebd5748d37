package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/schema"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND | settings]",
		Short: "Print the JSON Schema of the objects in a folder, for editors",
		Long: "Print a JSON Schema (draft 7) of all kinds that gatefold reads, or of one: with descriptions, defaults, the\n" +
			"annotations that gatefold reads, and the fields of kgateway that it does not serve, with the reason. Editors with\n" +
			"the YAML language server complete and check files by it, where a file begins with\n" +
			"  # yaml-language-server: $schema=.gatefold/schema.json\n" +
			"The word settings in place of KIND prints the schema of gatefold.yaml (docs/reference/settings.md).\n" +
			"The schema does not know rules that compare fields, and references: validate does. KIND is as for status.",
		Example: "  gatefold schema > .gatefold/schema.json\n  gatefold schema httproute",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "settings" {
				return writeValue(cmd.OutOrStdout(), formatJSON, settingsSchema())
			}
			set, err := schema.Load()
			if err != nil {
				return err
			}
			var kinds []apischema.GroupKind
			if len(args) > 0 {
				kind, like, known := store.FindKind(args[0])
				switch {
				case !known && like != "":
					return fmt.Errorf("unknown kind %q (did you mean %s?)", args[0], like)
				case !known:
					return fmt.Errorf("unknown kind %q", args[0])
				}
				kinds = append(kinds, apischema.GroupKind{Group: kind.Group, Kind: kind.Kind})
			}
			return writeValue(cmd.OutOrStdout(), formatJSON, set.JSONSchema(kinds...))
		},
	}
}
