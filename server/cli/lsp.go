package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/server/lsp"
	"github.com/gatefold/gatefold/store/visible"
)

func lspCommand() *cobra.Command {
	var folder folderOptions
	cmd := &cobra.Command{
		Use:   "lsp [DIR]",
		Short: "Show the mistakes in a folder while you edit it: a language server for editors",
		Long: "A language server on standard input and output, for any editor with a client of the Language Server\n" +
			"Protocol. The folder of the workspace, or DIR in it, is validated with each edit, as validate does, with the\n" +
			"texts that are not saved yet in the place of those on disk. It opens no network connection and writes no file.\n" +
			"Settings for editors: docs/guides/editors.md.",
		Example: "  gatefold lsp\n  gatefold lsp --cluster-paths 'platform/**' gateways",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options := lsp.Options{Version: readBuild().Version}
			if len(args) > 0 {
				options.Within = args[0]
			}
			if options.Within != "" && !filepath.IsLocal(options.Within) {
				return fmt.Errorf("%s: must be a path in the folder of the workspace", visible.Text(options.Within))
			}
			read, err := folder.folder("")
			if err != nil {
				return err
			}
			options.Folder = func(root string) engine.Folder {
				of := read
				of.Watch.Root = root
				return of
			}
			out := cmd.OutOrStdout()
			if w, ok := out.(*visible.Writer); ok { // the output is JSON, and its headers end with CR LF
				out = w.Unwrap()
			}
			in, ok := cmd.InOrStdin().(io.ReadCloser)
			if !ok {
				return errors.New("standard input cannot be closed")
			}
			return lsp.Serve(cmd.Context(), in, out, options)
		},
	}
	folder.register(cmd.Flags())
	cmd.Flags().Bool("stdio", true, "speak on standard input and output, which is all that there is")
	return cmd
}
