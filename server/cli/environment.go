package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
)

// environmentPrefix begins the name of each environment variable of gatefold.
const environmentPrefix = "GATEFOLD_"

// environmentName returns the environment variable for the name of a flag, such as GATEFOLD_XDS_ADDRESS for
// xds-address.
func environmentName(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// environmentNames returns the environment variables for a flag. If several variables are set, the first one in the
// list is used. The names that kgateway uses come last. The alias of a flag comes first, because it is the name of
// this command: the other name is also a setting of serve.
func environmentNames(f *pflag.Flag) (names []string) {
	for _, alias := range aliasesOf(f) {
		names = append(names, environmentName(alias))
	}
	switch f.Name {
	case "envoy": // GATEFOLD_ENVOY is a variable of the script envoy/get-envoy
		return append(names, "GATEFOLD_SERVE_ENVOY")
	case "weighted-route-precedence": // EP-11466
		return append(names, environmentName(f.Name), "KGW_WEIGHTED_ROUTE_PRECEDENCE")
	case "delegation-wildcard-namespace": // EP-10943
		return append(names, environmentName(f.Name), "DELEGATION_WILDCARD_NAMESPACE")
	}
	return append(names, environmentName(f.Name))
}

// fromEnvironment reports whether an environment variable can set the flag: it is a setting, or the name of the
// settings file.
func fromEnvironment(f *pflag.Flag) bool { return isSetting(f) || f.Name == configFlag }

// describeEnvironment adds to the help of each flag the names of the environment variables for the flag.
func describeEnvironment(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if fromEnvironment(f) {
			f.Usage += " [$" + strings.Join(environmentNames(f), ", $") + "]"
		}
	})
}

// applyEnvironment sets flags from their environment variables. A flag on the command line keeps its value.
// Empty variables are skipped. The error names the variables with an invalid value.
func applyEnvironment(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		names := environmentNames(f)
		set := slices.IndexFunc(names, func(name string) bool { return os.Getenv(name) != "" })
		if f.Changed || set < 0 || !fromEnvironment(f) {
			return
		}
		if err := flags.Set(f.Name, os.Getenv(names[set])); err != nil {
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

// warnOfUnused prints a warning for each variable GATEFOLD_… that names no setting. A flag that is not a setting
// belongs to one invocation: its variable would change the result of every later command. Empty variables and the
// variables of others get no warning (see isForeign).
func warnOfUnused(w io.Writer, root *cobra.Command) {
	var known, others []string
	for _, cmd := range allCommands(root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if fromEnvironment(f) {
				known = append(known, environmentNames(f)...)
			} else {
				others = append(others, environmentName(f.Name))
			}
		})
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, environmentPrefix) || isForeign(name) || slices.Contains(known, name) {
			continue
		}
		fmt.Fprintf(w, "gatefold: environment variable %s is not used%s\n", visible.Text(name), unusedHint(name, known, others))
	}
}

// unusedHint returns the end of the warning for a variable that names no setting. The parameter known has the
// variables that name one, and the parameter others has the variables of all other flags.
func unusedHint(name string, known, others []string) string {
	const list = "'gatefold schema settings' lists the settings"
	setting, other := nearestVariable(name, known), nearestVariable(name, others)
	switch {
	case setting != "" && other != name:
		return fmt.Sprintf("; did you mean %s?", setting)
	case other != "":
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(other, environmentPrefix), "_", "-"))
		return fmt.Sprintf(": --%s belongs to one invocation; write it on the command line (%s)", flag, list)
	}
	return fmt.Sprintf(": there is no such setting; %s, and GATEFOLD_MAX_FILES is that of max-files", list)
}

// foreignVariable matches variables that are not meant for gatefold: those of the script envoy/get-envoy, and those
// that Kubernetes and Docker set for a service that is named gatefold.
var foreignVariable = regexp.MustCompile(`^GATEFOLD_(ENVOY|ENVOY_VERSION|ENVOY_CACHE|NAME|ENV_.*|SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// isForeign reports whether a variable is not meant for gatefold.
func isForeign(name string) bool { return foreignVariable.MatchString(name) }

// nearestVariable returns the variable in the list known that is most similar to the parameter name, or "" if none
// is similar. Two names are similar if they differ in one letter, or in two if the parameter name has at least six
// letters after GATEFOLD_.
func nearestVariable(name string, known []string) (like string) {
	least := 1 + min(2, max(1, (len(name)-len(environmentPrefix))/3))
	for _, candidate := range known {
		if d := manifest.Distance(name, candidate); d < least {
			like, least = candidate, d
		}
	}
	return like
}
