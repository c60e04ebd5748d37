package cli

import (
	"fmt"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/watcher"
)

// folderOptions bound what is read of a folder (design section 10). serve,
// validate and translate take the same, so that they see the same.
type folderOptions struct {
	tree  watcher.Limits
	store store.Limits
}

func (o *folderOptions) register(flags *pflag.FlagSet) {
	o.tree = watcher.DefaultLimits()
	flags.Int64Var(&o.tree.FileBytes, "max-file-bytes", o.tree.FileBytes, "largest file that is read")
	flags.Int64Var(&o.tree.TreeBytes, "max-tree-bytes", o.tree.TreeBytes, "largest sum of files that is read")
	flags.IntVar(&o.tree.Files, "max-files", o.tree.Files, "largest number of files")
	flags.IntVar(&o.store.Documents, "max-documents", 0, "largest number of documents in one file (default 20000)")
	flags.IntVar(&o.store.Objects, "max-objects", 0, "largest number of objects (default 500000)")
}

// check refuses limits that mean nothing; 0 is the default.
func (o *folderOptions) check() error {
	least := min(o.tree.FileBytes, o.tree.TreeBytes, int64(o.tree.Files), int64(o.store.Documents), int64(o.store.Objects))
	if least < 0 {
		return fmt.Errorf("%d is not a limit: the --max- flags take numbers above 0", least)
	}
	return nil
}

// steps are the two steps between a Tree and what is served.
type steps struct {
	store      *store.Store
	translator *translate.Translator
}

func newSteps(o folderOptions, strict bool) (*steps, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	objects, err := store.New(store.Options{Strict: strict, Limits: o.store})
	if err != nil {
		return nil, err
	}
	return &steps{store: objects, translator: newTranslator()}, nil
}

// newTranslator makes a Translator for the Envoys of this machine. A Gateway
// without addresses listens on all interfaces, of both families where IPv6 is
// there: an address that cannot be bound would cost the whole listener.
func newTranslator() *translate.Translator {
	bind := []string{"0.0.0.0"}
	if socket, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0); err == nil {
		_ = syscall.Close(socket) // it was opened to see whether it can be
		bind = append(bind, "::")
	}
	return translate.New(translate.Options{Bind: bind})
}

// located gives the problems of both steps with their places, in order.
func (s *steps) located(change store.Change, result translate.Result) []store.Problem {
	problems := append(s.store.Locate(result.Problems), change.Problems...)
	store.SortProblems(problems)
	return problems
}

// tally counts problems by severity.
func tally(problems []store.Problem) (errors, warnings int) {
	for _, p := range problems {
		if p.Severity == store.Error {
			errors++
		}
	}
	return errors, len(problems) - errors
}
