package cli

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store/schema"
)

// starter contains the files that init writes.
//
//go:embed starter
var starter embed.FS

// starterFile is a file that init writes.
type starterFile struct {
	// path is where init writes the file, relative to the folder of the user.
	path string
	// from is the name of the embedded file (see starter) with the content.
	from string
}

// starterSchema is the path of the JSON Schema. gatefold does not read this file, because the name of its folder
// begins with a dot.
const starterSchema = ".gatefold/schema.json"

func initCommand() *cobra.Command {
	var github, gitlab, preCommit bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first folder: a Gateway, a route, a backend, tests, and a schema for editors",
		Long: "Write a first folder: a Gateway, a route with its backend, tests of what must happen to requests, and a JSON Schema\n" +
			"for editors; with --github, --gitlab and --pre-commit what runs validate and test there. Without DIR it writes into\n" +
			"the working directory. Files that exist stay as they are.",
		Example: "  gatefold init ./gateways --github\n  gatefold test ./gateways",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			files := []starterFile{{"gateway.yaml", "gateway.yaml"}, {"shop.yaml", "shop.yaml"}, {"requests", "requests"}}
			if preCommit {
				files = append(files, starterFile{".pre-commit-config.yaml", "pre-commit.yaml"})
			}
			if github {
				files = append(files, starterFile{".github/workflows/gatefold.yaml", "github.yaml"})
			}
			if gitlab {
				files = append(files, starterFile{".gitlab-ci.yml", "gitlab.yaml"})
			}
			return writeStarter(cmd.OutOrStdout(), folder, files)
		},
	}
	cmd.Flags().BoolVar(&github, "github", false, "write a workflow for GitHub Actions: the folder must be the root of the repository")
	cmd.Flags().BoolVar(&gitlab, "gitlab", false, "write a job for GitLab CI: the folder must be the root of the repository")
	cmd.Flags().BoolVar(&preCommit, "pre-commit", false, "write hooks for pre-commit: the folder must be the root of the repository")
	return cmd
}

// writeStarter writes the files and the schema into folder. It prints which files are new, and what to do next.
// It returns an error if a file cannot be written.
func writeStarter(out io.Writer, folder string, files []starterFile) error {
	for _, file := range files {
		text, err := starter.ReadFile("starter/" + file.from)
		if err != nil {
			panic(err) // it is embedded
		}
		if err := writeNew(out, filepath.Join(folder, file.path), text); err != nil {
			return err
		}
	}
	set, err := schema.Load()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writeValue(&text, formatJSON, set.JSONSchema()); err != nil {
		return err
	}
	if err := writeNew(out, filepath.Join(folder, starterSchema), text.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nnext: edit the files, then\n  gatefold test %[1]s\n  gatefold serve %[1]s\n", folder)
	return nil
}

// writeNew writes a file and prints its path after "wrote". If the file exists, it keeps the file and prints
// the path after "kept". It returns an error if the file cannot be written.
func writeNew(out io.Writer, path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write a first folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		fmt.Fprintf(out, "kept    %s\n", path)
		return nil
	}
	if err == nil {
		_, err = file.Write(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("write a first folder: %w", err)
	}
	fmt.Fprintf(out, "wrote   %s\n", path)
	return nil
}
