// Command typecheck checks that a Go module compiles for another operating system.
//
// Usage: typecheck GOOS DIR
//
// It checks the types of all packages and tests of the module in DIR, and of all their dependencies, as they are
// built for GOOS. It reads all of them from their sources, and compiles none. So it takes seconds, where
// `GOOS=darwin go vet` first compiles all dependencies, for minutes.
//
// It prints the errors, and exits with 1 if there are any. It exits with 2 if it could not check.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) != 3 {
		fail("usage: typecheck GOOS DIR")
	}
	found, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Dir:   os.Args[2],
		Env:   append(os.Environ(), "GOOS="+os.Args[1], "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	switch {
	case err != nil:
		fail(err)
	case len(found) == 0:
		fail("no packages in " + os.Args[2])
	case packages.PrintErrors(found) > 0:
		os.Exit(1)
	}
}

// fail prints why nothing could be checked, and ends the process.
func fail(reason any) {
	fmt.Fprintln(os.Stderr, "typecheck:", reason)
	os.Exit(2)
}
