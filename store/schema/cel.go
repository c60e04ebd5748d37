package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The API server's library compiles the CEL rules (x-kubernetes-validations). The functions of this file run
// the rules, without the library's Validator. That Validator is slow, because it makes the map of a schema's
// properties again for each field that a rule reads. A test compares the results of both.

// rule is one CEL rule of a node.
type rule struct {
	plain   celgo.Program                 // does not count costs; nil if only the library can compile the rule
	counted func() (celgo.Program, error) // stops if its cost is too high; compiled at the first call
	message string
	field   string // the field below the node that the rule is about; "" for the node
}

// program returns the program that checks an object. The parameter small is the result of isSmall for the
// object. The function panics if the rule cannot be compiled, as must does.
func (r rule) program(small bool) celgo.Program {
	if small && r.plain != nil {
		return r.plain
	}
	program, err := r.counted()
	must(err, r.message)
	return program
}

// setRules sets n.rules and n.self for the schema s. The parameter root is true for the schema of a whole
// object. The rules are compiled when the first value is checked by them: most folders use few of a kind's
// rules, and to compile all of them takes longer than to check a hundred objects.
func (c *compiler) setRules(n *node, s *structural.Structural, root bool) {
	if len(s.XValidations) == 0 {
		return
	}
	if root {
		n.rules = sync.OnceValue(func() []rule { return rulesOf(s, root) })
		n.self = memoize(&model.Structural{Structural: model.WithTypeAndObjectMeta(s)})
		return
	}
	n.rules = c.sharedRules(s)
	n.self = memoize(&model.Structural{Structural: s})
}

// sharedRules returns a function that returns the rules of the schema s. If s is a scalar with the same rules as
// an earlier scalar, it returns the same function.
func (c *compiler) sharedRules(s *structural.Structural) func() []rule {
	compile := sync.OnceValue(func() []rule { return rulesOf(s, false) })
	if s.Items != nil || s.Properties != nil || s.AdditionalProperties != nil {
		return compile
	}
	format := ""
	if s.ValueValidation != nil {
		format = s.ValueValidation.Format
	}
	key := fmt.Sprintf("%s %s %v %v %+v", s.Type, format, s.Nullable, s.XIntOrString, s.XValidations)
	if c.scalars[key] == nil {
		c.scalars[key] = compile
	}
	return c.scalars[key]
}

// rulesOf compiles the rules of the schema s. It leaves out rules about the previous value (oldSelf), because
// each Check is like the creation of an object. It panics if a rule cannot be compiled, as must does.
func rulesOf(s *structural.Structural, root bool) (rules []rule) {
	env := ruleEnv(s, root)
	plain := sync.OnceValues(func() (*celgo.Env, error) { return plainEnv(env) })
	counted := sync.OnceValues(func() ([]cel.CompilationResult, error) { return compile(s, root, cel.StoredExpressionsEnvLoader()) })
	for i, validation := range s.XValidations {
		ast, issues := env.Compile(validation.Rule)
		must(issues.Err(), validation.Rule)
		if reads(ast, cel.OldScopedVarName) {
			continue
		}
		rules = append(rules, rule{plainProgram(plain, ast), func() (celgo.Program, error) {
			results, err := counted()
			if err != nil {
				return nil, err
			}
			if results[i].Error != nil {
				return nil, results[i].Error
			}
			return results[i].Program, nil
		}, violation(validation), fieldBelow(s, validation)})
	}
	return rules
}

// compile compiles the rules of the schema s by the API server's library. The programs count costs.
func compile(s *structural.Structural, root bool, envs cel.EnvLoader) ([]cel.CompilationResult, error) {
	return cel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), envs)
}

// violation returns the message of an object that violates a rule.
func violation(rule apiextensionsv1.ValidationRule) string {
	if message := strings.TrimSpace(rule.Message); message != "" {
		return message
	}
	return "against the rule " + strings.TrimSpace(rule.Rule)
}

// fieldBelow returns the field of the schema s that a rule is about. It returns "" if the rule is about s.
func fieldBelow(s *structural.Structural, rule apiextensionsv1.ValidationRule) string {
	if rule.FieldPath == "" {
		return ""
	}
	path, _, err := cel.ValidFieldPath(rule.FieldPath, s)
	must(err, rule.FieldPath)
	return path.String()
}

// memoized is a schema whose properties, items and additional properties are made only once.
type memoized struct {
	common.Schema
	properties map[string]common.Schema
	items      common.Schema
	additional common.SchemaOrBool
}

// memoizedValues is the schema of additional properties, made only once.
type memoizedValues struct {
	common.SchemaOrBool
	schema common.Schema
}

func (m *memoized) Properties() map[string]common.Schema      { return m.properties }
func (m *memoized) Items() common.Schema                      { return m.items }
func (m *memoized) AdditionalProperties() common.SchemaOrBool { return m.additional }
func (m *memoizedValues) Schema() common.Schema               { return m.schema }

// memoize returns the schema as a memoized, in which all schemas inside it are memoized too.
func memoize(s common.Schema) common.Schema {
	m := &memoized{Schema: s, properties: s.Properties()}
	for name, property := range m.properties {
		m.properties[name] = memoize(property)
	}
	if items := s.Items(); items != nil {
		m.items = memoize(items)
	}
	if additional := s.AdditionalProperties(); additional != nil {
		values := &memoizedValues{SchemaOrBool: additional}
		if schema := additional.Schema(); schema != nil {
			values.schema = memoize(schema)
		}
		m.additional = values
	}
	return m
}

// self is the environment of a rule. It has one variable, self.
type self struct{ value ref.Val }

func (s *self) ResolveName(name string) (any, bool) { return s.value, name == cel.ScopedVarName }
func (s *self) Parent() celgo.Activation            { return nil }

// ruleRun runs the CEL rules of one object, and records what violates them.
type ruleRun struct {
	*mistakes
	small  bool  // the cost of the rules is not counted (isSmall)
	budget int64 // the cost that the rules may still have, in units of the API server
}

// walk runs the rules of n on v, and the rules of the nodes in n on the values in v. It stops when the
// budget is used up.
func (r *ruleRun) walk(n *node, v any) {
	if !n.ruled || v == nil || r.budget < 0 {
		return
	}
	if n.rules != nil {
		r.run(n, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range n.ruledNames(v) {
			r.into(name, n)
			r.walk(n.child(name), v[name])
			r.out()
		}
	case []any:
		if n.items == nil || !n.items.ruled {
			return
		}
		for i, item := range v {
			r.intoItem(i)
			r.walk(n.items, item)
			r.out()
		}
	}
}

// ruledNames returns the names in object with values that have rules. The order is fixed, so that the budget
// always ends at the same rule.
func (n *node) ruledNames(object map[string]any) []string {
	if n.values != nil && n.values.ruled {
		return slices.Sorted(maps.Keys(object))
	}
	return n.ruledFields
}

// run evaluates the rules of one node on v, and records the rules that v violates. If the budget is used up, it
// records that the object is too large.
func (r *ruleRun) run(n *node, v any) {
	activation := &self{common.UnstructuredToVal(v, n.self)}
	for _, rule := range n.rules() {
		result, details, err := rule.program(r.small).Eval(activation)
		if cost := details.ActualCost(); cost != nil {
			r.budget -= int64(min(*cost, celconfig.RuntimeCELCostBudget+1))
		}
		switch {
		case r.budget < 0:
			r.violated(rule, "the object is too large for its rules to be checked", "split it into several")
			return
		case err != nil || result != types.True: // an error means that a needed field is missing
			r.violated(rule, rule.message, "")
		}
	}
}

// violated records that the value at the current path violates a rule, with the given message and hint.
func (r *ruleRun) violated(rule rule, message, hint string) {
	field := r.trail.text()
	if rule.field != "" {
		field += "." + rule.field
	}
	r.addAt(RuleViolated, field, message, hint)
}
