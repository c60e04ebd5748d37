package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store"
)

// maxFrames is the highest number of places in the code that the message about a panic has.
const maxFrames = 4

// execute runs a command and returns its error. A panic is a bug of gatefold: execute turns it into an error of
// one line, because a stack trace does not help the user.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if mistake := recover(); mistake != nil {
			err = fmt.Errorf("internal error: %v (at %s); this is a bug in gatefold, please report it", mistake, strings.Join(store.PanickedAt(maxFrames), " < "))
		}
	}()
	return root.ExecuteContext(ctx)
}
