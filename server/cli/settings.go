package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
)

// settingsNone is the value of --config that means that no settings file is read.
const settingsNone = "none"

// configFlag is the name of the flag for the settings file.
const configFlag = "config"

// settingAnnotation is the annotation of flags that are settings.
const settingAnnotation = "gatefold_setting"

// markSetting makes a flag a setting: a settings file and the environment may set it. The rule: a setting is about
// the site, and true for every command and at every time. These are the flags of serve, the same flags where other
// commands read a folder as serve does, where the running gatefold is, and how strict the checks of the folder are.
// A setting has the same name and meaning for all commands. All other flags belong to one invocation: what it asks,
// writes, prints or overwrites.
func markSetting(f *pflag.Flag) { annotate(f, settingAnnotation) }

// annotate sets an annotation of a flag.
func annotate(f *pflag.Flag, annotation string, values ...string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[annotation] = values
}

// isSetting reports whether the flag is a setting.
func isSetting(f *pflag.Flag) bool {
	_, marked := f.Annotations[settingAnnotation]
	return marked
}

// addConfigFlag adds --config if a settings file may set one of the flags.
func addConfigFlag(flags *pflag.FlagSet) {
	has := false
	flags.VisitAll(func(f *pflag.Flag) { has = has || isSetting(f) })
	if has {
		flags.String(configFlag, "", "a file with values of flags, or none (default "+store.SettingsFile+" in the working directory, where it exists)")
	}
}

// settingsFile returns the path of the settings file that was read, or "" if none was.
func settingsFile(flags *pflag.FlagSet) string {
	if name, err := flags.GetString(configFlag); err == nil && name != settingsNone {
		return name
	}
	return ""
}

// applySettings reads the settings file and sets the flags that the file names. A flag that is set on the command
// line or in the environment keeps its value. applySettings also sets --config to the path of the file. Without a
// settings file, it does nothing. It returns an error if the file cannot be read. If the file has mistakes, the
// error has a line for each mistake, with line and column.
func applySettings(cmd *cobra.Command, args []string) error {
	flags := cmd.Flags()
	config := flags.Lookup(configFlag)
	if config == nil || config.Value.String() == settingsNone {
		return nil
	}
	name := config.Value.String()
	if name == "" {
		if name = findSettings(cmd, args); name == "" {
			return nil
		}
	}
	text, err := readSettingsFile(name)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	settings, err := store.ReadSettings(text)
	errs := []error{err}
	known := settingFlags()
	for _, setting := range settings {
		if err := applySetting(flags, known, setting); err != nil {
			errs = append(errs, fmt.Errorf("%d:%d: %w", setting.Line, setting.Column, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		prefix := visible.Text(name) + ":"
		return errors.New(prefix + strings.ReplaceAll(err.Error(), "\n", "\n"+prefix))
	}
	return config.Value.Set(name)
}

// findSettings returns the path of the settings file in the working directory, or "" if there is none. If the
// working directory is inside of the folder that serve serves, findSettings ignores the file, because other
// users may write there: it prints a message and returns "". The user can still name the file with --config.
func findSettings(cmd *cobra.Command, args []string) string {
	if _, err := os.Lstat(store.SettingsFile); err != nil {
		return ""
	}
	if cmd.Name() == "serve" && len(args) == 1 && inside(realPath(args[0]), realPath(".")) {
		fmt.Fprintf(cmd.ErrOrStderr(), "gatefold: %s is not read, as it lies in the folder that is served; name it by --config, or move it\n", store.SettingsFile)
		return ""
	}
	return store.SettingsFile
}

// readSettingsFile returns the content of a file. If the file is too large, it returns store.MaxSettings+1
// bytes, which store.ReadSettings rejects. It returns an error if the file cannot be read or is not a regular
// file.
func readSettingsFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Text(name), rootCause(err))
	}
	if !info.Mode().IsRegular() { // reading a FIFO could block
		return nil, fmt.Errorf("%s: it is not a regular file", visible.Text(name))
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Text(name), rootCause(err))
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, store.MaxSettings+1))
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return text, err
}

// settingFlags returns copies of all flags that a settings file may set, from all commands.
func settingFlags() *pflag.FlagSet {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	commands := allCommands(rootCommand())
	// serve comes first, because the reference uses its help texts.
	slices.SortStableFunc(commands, func(a, b *cobra.Command) int {
		return cmp.Compare(strings.Index(b.Name(), "serve"), strings.Index(a.Name(), "serve"))
	})
	for _, cmd := range commands {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if isSetting(f) && known.Lookup(f.Name) == nil {
				known.AddFlag(f)
			}
		})
	}
	return known
}

// applySetting checks the key and the value of one setting in a settings file. If the command has a flag with the
// name of the key, applySetting sets this flag. A flag that is set on the command line or in the environment keeps
// its value. The parameter flags has the flags of the command. The parameter known has the flags that a settings
// file may set, from all commands. The error means that the key is unknown or the value is invalid.
func applySetting(flags, known *pflag.FlagSet, s store.Setting) error {
	f := known.Lookup(s.Key)
	if f == nil {
		return unknownSetting(s, known)
	}
	if kind := settingKind(f); kind != s.Kind {
		return fmt.Errorf("%q must be %s%s", s.Key, kind, kindHint(kind))
	}
	if err := setValue(known, f, s); err != nil {
		return err
	}
	if own := flags.Lookup(s.Key); own != nil && isSetting(own) && !own.Changed {
		return setValue(flags, own, s)
	}
	return nil
}

// setValue sets a flag to the value of a setting. If the flag is a list, the setting replaces the whole list. It
// returns an error if the value is invalid.
func setValue(flags *pflag.FlagSet, f *pflag.Flag, s store.Setting) error {
	list, isList := f.Value.(pflag.SliceValue)
	if !isList {
		return plainFlagError(flags.Set(f.Name, s.Text))
	}
	f.Changed = true
	return list.Replace(s.Items)
}

// settingKind returns the type that the value of a flag must have in a settings file.
func settingKind(f *pflag.Flag) store.SettingKind {
	if _, isList := f.Value.(pflag.SliceValue); isList {
		return store.ListSetting
	}
	switch kind := f.Value.Type(); {
	case kind == "bool":
		return store.BooleanSetting
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), kind == percentageType:
		return store.NumberSetting
	}
	return store.TextSetting
}

// kindHint returns, for an error message, how to write a text or a list in a settings file. It returns "" for
// all other types of values.
func kindHint(kind store.SettingKind) string {
	switch kind {
	case store.TextSetting:
		return "; write it in quotes"
	case store.ListSetting:
		return ", such as [one, two]"
	}
	return ""
}

// unknownSetting returns the error for an unknown key, with a suggestion if a known key is similar.
func unknownSetting(s store.Setting, known *pflag.FlagSet) error {
	var names []string
	known.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	switch like := manifest.Nearest(strings.TrimLeft(strings.ReplaceAll(s.Key, "_", "-"), "-"), names); {
	case s.Key == "apiVersion" || s.Key == "kind":
		return fmt.Errorf("%q: this is an object, and no settings file", s.Key)
	case like != "":
		return fmt.Errorf("unknown key %q; did you mean %q?", s.Key, like)
	}
	return fmt.Errorf("unknown key %q; 'gatefold schema settings' lists the keys", s.Key)
}
