package store

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// MaxSettings is the size in bytes up to which a settings file is read.
const MaxSettings = 64 << 10

// SettingKind is the type of a value in a settings file.
type SettingKind string

// The types of values in a settings file.
const (
	TextSetting    SettingKind = "text"
	NumberSetting  SettingKind = "a number"
	BooleanSetting SettingKind = "true or false"
	ListSetting    SettingKind = "a list of texts"
)

// SettingsFile is the name of the settings file that commands read from the working directory.
const SettingsFile = "gatefold.yaml"

// Setting is a key of a settings file with its value.
type Setting struct {
	Key  string
	Kind SettingKind
	// Text is the value as it is written, if it is no list. Items are the items of a list.
	Text  string
	Items []string

	Line, Column int // of the key
}

// ReadSettings returns the keys of a settings file such as gatefold.yaml, in their order. It returns nil for an
// empty file. The file must be a mapping of keys to texts, numbers, booleans and lists of texts; a date counts
// as a text. Anything else, a duplicate key, and a file with more than MaxSettings bytes is an error that begins
// with "LINE:COLUMN: ". The result has the keys without mistakes, and the errors are joined.
func ReadSettings(text []byte) ([]Setting, error) {
	if len(text) > MaxSettings {
		return nil, fmt.Errorf("1:1: the file is larger than %d bytes", MaxSettings)
	}
	root, err := parseYAML(text)
	switch {
	case errors.Is(err, errExtraDocument):
		return nil, errors.New("1:1: a settings file has one document, and this one has more")
	case err != nil:
		return nil, fmt.Errorf("%d:1: %s", lineIn(err), reasonOf(err))
	case root == nil || root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, settingError(root, "the file must be a mapping of keys to values, such as 'strict: true'")
	}
	var settings []Setting
	var errs []error
	lines := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			errs = append(errs, settingError(key, "a key must be a text"))
			continue
		}
		if line, twice := lines[key.Value]; twice {
			errs = append(errs, settingError(key, "%q is in line %d already", key.Value, line))
			continue
		}
		lines[key.Value] = key.Line
		setting := Setting{Key: key.Value, Line: key.Line, Column: key.Column}
		if err := setting.read(value); err != nil {
			errs = append(errs, err)
			continue
		}
		settings = append(settings, setting)
	}
	return settings, errors.Join(errs...)
}

// read sets the kind and value of the setting from a node. It returns an error for a mapping, an alias, null,
// and a list with items that are not texts. A value of another type, such as a date, becomes a text.
func (s *Setting) read(n *yaml.Node) error {
	if n.Kind == yaml.SequenceNode {
		s.Kind, s.Items = ListSetting, []string{}
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.ShortTag() != "!!str" {
				return settingError(item, "%q: an item of the list must be a text; write it in quotes", s.Key)
			}
			s.Items = append(s.Items, item.Value)
		}
		return nil
	}
	kinds := map[string]SettingKind{"!!str": TextSetting, "!!int": NumberSetting, "!!float": NumberSetting, "!!bool": BooleanSetting}
	kind, known := kinds[n.ShortTag()]
	switch {
	case n.Kind == yaml.AliasNode:
		return settingError(n, "%q: an alias is not allowed here; write the value", s.Key)
	case n.Kind == yaml.MappingNode:
		return settingError(n, "%q: a mapping is not allowed here", s.Key)
	case n.ShortTag() == "!!null":
		return settingError(n, "%q has no value", s.Key)
	case !known: // for example a date
		kind = TextSetting
	}
	s.Kind, s.Text = kind, n.Value
	return nil
}

// settingError returns an error that begins with the line and column of a node.
func settingError(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%d:%d: %w", n.Line, n.Column, fmt.Errorf(format, args...))
}
