package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store"
)

// maxFrames bounds the places that an internal error names.
const maxFrames = 4

// execute runs a command. A panic of the command is a mistake in gatefold, and becomes an
// error of one line: a stack says nothing to the user of a command.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if mistake := recover(); mistake != nil {
			err = fmt.Errorf("internal error: %v (at %s); this is a bug in gatefold, please report it", mistake, strings.Join(store.PanickedAt(maxFrames), " < "))
		}
	}()
	return root.ExecuteContext(ctx)
}
