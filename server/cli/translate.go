package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/xds"
)

func translateCommand() *cobra.Command {
	var folder folderOptions
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "translate DIR",
		Short: "Print what Envoy would be sent for a folder",
		Long: "Print what Envoy would be sent for a folder: one document for each xDS type, in protobuf JSON, sorted.\n" +
			"Secrets are not shown. Mistakes go to standard error and give exit code 1.",
		Args: exactly("the folder to translate"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder.prefix = pathPrefix(args[0])
			read, err := readFolder(cmd.Context(), args[0], folder)
			if err != nil {
				return err
			}
			if err := printTypes(cmd.OutOrStdout(), format, byType(read.Result.Delta)); err != nil {
				return err
			}
			if len(read.Problems) == 0 {
				return nil
			}
			if err := printReport(cmd.ErrOrStderr(), formatText, read); err != nil {
				return err
			}
			if errors, _ := manifest.Count(read.Problems); errors > 0 {
				return errFindings
			}
			return nil
		},
	}
	folder.register(cmd.Flags())
	format.register(cmd.Flags(), formatYAML, formatJSON)
	return cmd
}

// typeDocument has all resources of one xDS type. It is the output of translate. Its format is stable.
type typeDocument struct {
	Type      string             `json:"type"` // the type URL
	Resources []resourceDocument `json:"resources"`
}

type resourceDocument struct {
	Gateway string          `json:"gateway"` // "namespace/name"
	Name    string          `json:"name"`
	Version string          `json:"version"` // the hash that Envoy gets as version
	Config  json.RawMessage `json:"config"`  // protobuf JSON
}

// byType groups sorted resources by type. The types have the order in which Envoys get them.
func byType(updates []xds.Update) []typeDocument {
	byURL := map[string][]resourceDocument{}
	for _, u := range updates {
		byURL[u.Type] = append(byURL[u.Type], resourceDocument{u.Gateway, u.Name, admin.ShownVersion(u.Resource), admin.ConfigJSON(u.Resource)})
	}
	documents := []typeDocument{}
	for _, url := range delta.Types() {
		if len(byURL[url]) > 0 {
			documents = append(documents, typeDocument{url, byURL[url]})
		}
	}
	return documents
}

// printTypes prints one YAML document for each type, or one JSON array.
func printTypes(w io.Writer, format outputFormat, documents []typeDocument) error {
	if format == formatJSON {
		return writeValue(w, format, documents)
	}
	for _, document := range documents {
		fmt.Fprintln(w, "---")
		if err := writeValue(w, formatYAML, document); err != nil {
			return err
		}
	}
	return nil
}
