package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/explain"
)

// requestArgs are the arguments of explain: [DIR] [METHOD] URL. The field folder is "" if a running gatefold is
// asked, and the field method is "" if the command line has none.
type requestArgs struct{ folder, method, url string }

// readRequest parses the arguments of explain. Only the command line decides what is asked: a folder if it names
// one, and a running gatefold otherwise. readRequest returns an error if the URL is missing, if the command line names
// both, or if METHOD is not a method in capitals.
func readRequest(cmd *cobra.Command, args []string) (r requestArgs, err error) {
	if len(args) == 0 || !strings.Contains(args[len(args)-1], "://") && !strings.ContainsAny(args[len(args)-1], "/.") {
		return r, fmt.Errorf("%s needs the URL of the request; see '%s --help'", cmd.Name(), cmd.CommandPath())
	}
	r.url = args[len(args)-1]
	switch before := args[:len(args)-1]; len(before) {
	case 0:
		return r, nil
	case 1:
		return r, r.readOne(before[0], serverGiven(cmd))
	case 2:
		r.folder, r.method = before[0], before[1]
		if serverGiven(cmd) {
			return r, fmt.Errorf("explain asks a folder or a running gatefold: leave out %q, or --%s", r.folder, adminFlag)
		}
		return r, checkMethod(r.method)
	}
	return r, noMore(cmd, args, 3)
}

// commonMethods returns the methods that a running gatefold can be asked for without its address. Any other word in
// front of a URL is a folder.
func commonMethods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}
}

// readOne parses an argument that is DIR or METHOD. It is METHOD if the command line names a running gatefold (the
// parameter server). Otherwise it is METHOD if it is a common method, and DIR if it is any other word.
func (r *requestArgs) readOne(word string, server bool) error {
	upper, shown, method := strings.ToUpper(word), visible.Text(word), explain.CheckMethod(word) == nil
	switch folder, common := isFolder(word), slices.Contains(commonMethods(), upper); {
	case server && folder && !method:
		return fmt.Errorf("%s is a folder: leave out --%s to ask the folder, or leave out %s", shown, adminFlag, shown)
	case server, common && !folder:
		r.method = word
		return checkMethod(word)
	case common && word == upper:
		return fmt.Errorf("%s is a method and a folder: write ./%s for the folder, or add --%s", word, word, adminFlag)
	case !folder && word == upper && method:
		return fmt.Errorf("%s is no folder; if it is a method, add --%s, the address of the running gatefold", shown, adminFlag)
	}
	r.folder = word
	return nil
}

// checkMethod returns an error if the argument METHOD is the name of a folder, or a method in lower case.
func checkMethod(word string) error {
	wrong := explain.CheckMethod(word)
	if wrong != nil && isFolder(word) {
		return fmt.Errorf("%s is a folder, in the place of a method: write DIR, METHOD and URL, in this order", visible.Text(word))
	}
	return wrong
}

// isFolder reports whether there is a folder with this path.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
