package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiserver/pkg/cel/common"
)

// node is the compiled schema of one value, such as an object, a field or a list item. It does not change after
// checker.finish.
type node struct {
	typ         string // object, array, string, integer, number, boolean; "" for any type
	nullable    bool
	intOrString bool
	preserve    bool // unknown fields are kept

	fields   map[string]*node // the fields of an object
	defaults []string         // the fields that have a default
	values   *node            // the schema of the values of a map
	items    *node            // the schema of the items of an array
	listType string           // set, map or atomic
	listKeys []string         // the fields that identify the items of a list of type map

	ignored *ignoredField // the field is valid and has no effect; nil for other fields

	def    any // the default; nil if there is none
	limits structural.ValueValidation
	regexp *regexp.Regexp              // limits.Pattern, compiled
	valid  func(string) (wrong string) // a check of a string beyond limits; returns "" if valid
	keys   func(string) (wrong string) // the same check for the keys of a map
	formed validation.SchemaValidator  // checks limits.Format of a string; nil without a format
	rest   validation.SchemaValidator  // checks allOf, anyOf, oneOf, not; nil without these

	rules func() []rule // CEL rules, compiled at the first call; nil without rules
	self  common.Schema // the schema of the rules' self; nil without rules
	ruled bool          // this node or a node in it has rules

	ruledFields []string // the names of the fields that are ruled, sorted
}

// compiler makes nodes from the schema of one CRD.
type compiler struct {
	// scalars has the functions that return the compiled CEL rules of scalar fields. The key is made from the
	// type of the field and the text of its rules. So the many fields of one Go type, such as
	// api.PositiveDuration, share one function (see sharedRules).
	scalars map[string]func() []rule
}

// node compiles the schema s, and all schemas inside s, into a node. The parameter root is true if s is the
// schema of a whole object (see setRules). node returns an error if a pattern is not a valid regular
// expression.
func (c *compiler) node(s *structural.Structural, root bool) (*node, error) {
	n := &node{
		typ: s.Type, nullable: s.Nullable, intOrString: s.XIntOrString,
		preserve: s.XPreserveUnknownFields, def: s.Default.Object, listKeys: s.XListMapKeys,
	}
	if s.XListType != nil {
		n.listType = *s.XListType
	}
	if err := n.limit(s); err != nil {
		return nil, err
	}
	c.setRules(n, s, root)
	n.ruled = n.rules != nil
	return n, c.descend(n, s)
}

// limit copies the limits of values, such as enum, pattern and maxLength, from the schema s to n. It returns an
// error if the pattern is not a valid regular expression.
func (n *node) limit(s *structural.Structural) (err error) {
	if s.ValueValidation == nil {
		return nil
	}
	n.limits = *s.ValueValidation
	if n.limits.Pattern != "" {
		if n.regexp, err = regexp.Compile(n.limits.Pattern); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	}
	if n.limits.Format != "" && n.typ == "string" {
		n.format(n.limits.Format)
	}
	if v := n.limits; v.AllOf != nil || v.AnyOf != nil || v.OneOf != nil || v.Not != nil {
		n.rest = validatorOf(structural.Generic{}, structural.ValueValidation{AllOf: v.AllOf, AnyOf: v.AnyOf, OneOf: v.OneOf, Not: v.Not})
	}
	return nil
}

// format sets the format that a string must have, such as date-time.
func (n *node) format(name string) {
	n.limits.Format = name
	n.formed = validatorOf(structural.Generic{Type: "string"}, structural.ValueValidation{Format: name})
}

// validatorOf returns the API server's validator for a schema that has only the given type and limits.
func validatorOf(generic structural.Generic, some structural.ValueValidation) validation.SchemaValidator {
	part := structural.Structural{Generic: generic, ValueValidation: &some}
	return validation.NewSchemaValidatorFromOpenAPI(part.ToKubeOpenAPI())
}

// descend compiles the schemas inside s (items, properties and the values of a map), and adds them to n. It
// returns an error if one of these schemas cannot be compiled.
func (c *compiler) descend(n *node, s *structural.Structural) (err error) {
	if s.Items != nil {
		if n.items, err = c.node(s.Items, false); err != nil {
			return err
		}
		n.ruled = n.ruled || n.items.ruled
	}
	if more := s.AdditionalProperties; more != nil && more.Structural != nil {
		if n.values, err = c.node(more.Structural, false); err != nil {
			return err
		}
		n.ruled = n.ruled || n.values.ruled
	}
	for name, property := range s.Properties {
		child, err := c.node(&property, false)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		n.add(name, child)
		if child.ruled {
			n.ruled, n.ruledFields = true, append(n.ruledFields, name)
		}
	}
	slices.Sort(n.ruledFields)
	return nil
}

// add adds a field to n.
func (n *node) add(name string, child *node) {
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	n.fields[name] = child
	if child.def != nil {
		n.defaults = append(n.defaults, name)
	}
}

// child returns the schema of the field with the given name. If n has no such field and is the schema of a map,
// the result is the schema of the map's values. Otherwise the result is nil.
func (n *node) child(name string) *node {
	if field := n.fields[name]; field != nil {
		return field
	}
	return n.values
}

// at returns the schema at a path inside n, such as spec.ports[].port; {} is a value of a mapping. It returns nil if n
// has no such path.
func (n *node) at(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(name, "[]")
		name, mapping := strings.CutSuffix(name, "{}")
		if n = n.fields[name]; n == nil {
			return nil
		}
		if list {
			n = n.items
		} else if mapping {
			n = n.values
		}
		if n == nil {
			return nil
		}
	}
	return n
}

// setDefault sets the default of the field with the given name. The field must exist in n.
func (n *node) setDefault(name string, value any) {
	n.fields[name].def = value
	n.defaults = append(n.defaults, name)
}
