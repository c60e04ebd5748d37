package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/store/manifest"
)

// environmentNames returns the environment variables for a flag, such as GATEFOLD_XDS_ADDRESS for
// --xds-address. For some flags, it also returns the name that kgateway uses. If several variables are set, the
// first one in the list is used.
func environmentNames(flag string) []string {
	names := []string{"GATEFOLD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
	switch flag {
	case "envoy": // GATEFOLD_ENVOY is a variable of the script envoy/get-envoy
		names = []string{"GATEFOLD_SERVE_ENVOY"}
	case "weighted-route-precedence": // EP-11466
		names = append(names, "KGW_WEIGHTED_ROUTE_PRECEDENCE")
	case "delegation-wildcard-namespace": // EP-10943
		names = append(names, "DELEGATION_WILDCARD_NAMESPACE")
	}
	return names
}

// fromEnvironment reports whether an environment variable can set the flag.
func fromEnvironment(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// describeEnvironment adds to the help of each flag the names of the environment variables for the flag.
func describeEnvironment(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if fromEnvironment(f) {
			f.Usage += " [$" + strings.Join(environmentNames(f.Name), ", $") + "]"
		}
	})
}

// applyEnvironment sets flags from their environment variables. A flag on the command line keeps its value.
// Empty variables are skipped, and so is an output format that only other commands support. The error names the
// variables with an invalid value.
func applyEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		names := environmentNames(f.Name)
		set := slices.IndexFunc(names, func(name string) bool { return os.Getenv(name) != "" })
		if f.Changed || set < 0 || !fromEnvironment(f) {
			return
		}
		text := os.Getenv(names[set])
		if format, is := f.Value.(*formatFlag); is && format.ofOthers(text) {
			return
		}
		if err := flags.Set(f.Name, text); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", names[set], plainFlagError(err)))
		}
	})
	return errors.Join(errs...)
}

// plainFlagError replaces the error for an invalid value of a flag by an error that describes valid values. It
// does so only for flags that are boolean, a duration, a whole number or a percentage. It returns any other error
// unchanged.
func plainFlagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	must := ""
	switch kind := invalid.GetFlag().Value.Type(); {
	case kind == "bool":
		must = "true or false"
	case kind == "duration":
		must = "a duration such as 10s or 5m"
	case strings.HasPrefix(kind, "int"):
		must = "a whole number"
	case strings.HasPrefix(kind, "uint"):
		must = "a whole number from 0"
	case kind == percentageType:
		must = "a percentage: a number from 0 to 100, such as 80"
	default:
		return err
	}
	return fmt.Errorf("invalid argument %q for --%s: it must be %s", invalid.GetValue(), invalid.GetFlag().Name, must)
}

// warnOfMisspelt prints a warning for each variable GATEFOLD_… that no flag uses and whose name is similar to a
// flag's variable. It gives no warning for other unknown variables, because container platforms set such
// variables. It gives none for empty variables, and none for GATEFOLD_ENVOY, which the script envoy/get-envoy uses.
func warnOfMisspelt(w io.Writer, root *cobra.Command) {
	var known []string
	for _, cmd := range allCommands(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if fromEnvironment(f) {
				known = append(known, environmentNames(f.Name)...)
			}
		})
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, "GATEFOLD_") || name == "GATEFOLD_ENVOY" || slices.Contains(known, name) {
			continue
		}
		if like := nearestVariable(name, known); like != "" {
			fmt.Fprintf(w, "gatefold: environment variable %s is not used; did you mean %s?\n", name, like)
		}
	}
}

// nearestVariable returns the variable in the list known that is most similar to the parameter name, or "" if none
// is similar. Two names are similar if they differ in one letter, or in two if the parameter name has at least six
// letters after GATEFOLD_.
func nearestVariable(name string, known []string) (like string) {
	const prefix = "GATEFOLD_"
	least := 1 + min(2, max(1, (len(name)-len(prefix))/3))
	for _, candidate := range known {
		if d := manifest.Distance(name, candidate); d < least {
			like, least = candidate, d
		}
	}
	return like
}
