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

// execute runs a command. It turns a panic, which is a fault of gatefold, into an error of one
// line, because a stack does not help the user of a command.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if mistake := recover(); mistake != nil {
			err = fmt.Errorf("internal error: %v (at %s); this is a bug in gatefold, please report it", mistake, strings.Join(store.PanickedAt(maxFrames), " < "))
		}
	}()
	return root.ExecuteContext(ctx)
}
