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

// rule is one CEL rule of a node, which is the schema of one value.
type rule struct {
	plain   celgo.Program                 // has no cost limit; nil if the rule cannot run without one (see plainProgram)
	counted func() (celgo.Program, error) // stops if its cost is too high; compiled at the first call
	message string                        // what is wrong with an object that violates the rule
	field   string                        // the field below the node that the rule is about; "" for the node
}

// program returns the compiled CEL program of r. If small is true, the value is small (see isSmall), and
// program prefers r.plain, which has no cost limit. If small is false or r.plain is nil, the result is the
// program that stops at the cost limit. program panics if the rule does not compile, because that is a bug in
// gatefold.
func (r rule) program(small bool) celgo.Program {
	if small && r.plain != nil {
		return r.plain
	}
	program, err := r.counted()
	must(err, r.message)
	return program
}

// setRules gives the node n the CEL rules of the schema s: n.rules returns the rules, and n.self is the schema
// of the variable self. If s has no rules, both stay nil. If root is true, s is the schema of a whole object,
// and the rules can also read apiVersion, kind and metadata. The rules are compiled at their first use, because
// most folders use few rules of a kind.
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

// sharedRules returns a function that returns the compiled CEL rules of the schema s. If s is a scalar, all
// scalars with the same type and the same rules get the same function, so that these rules are compiled only
// once.
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

// rulesOf returns the compiled CEL rules of the schema s. The parameter root is true if s is the schema of a
// whole object. rulesOf leaves out rules about the previous value (oldSelf), because gatefold checks each
// object as if the object were created. It panics if a rule does not compile, because that is a bug in
// gatefold.
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

// compile compiles the CEL rules of the schema s with the API server's library. The resulting programs count
// their cost, and stop at the API server's limit for one rule. The parameter root is true if s is the schema of
// a whole object. The parameter envs provides the CEL environment for each rule.
func compile(s *structural.Structural, root bool, envs cel.EnvLoader) ([]cel.CompilationResult, error) {
	return cel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), envs)
}

// violation returns the message for an object that violates a rule. It is the message in the CRD, or a sentence
// with the expression of the rule if the CRD has no message.
func violation(rule apiextensionsv1.ValidationRule) string {
	if message := strings.TrimSpace(rule.Message); message != "" {
		return message
	}
	return "against the rule " + strings.TrimSpace(rule.Rule)
}

// fieldBelow returns the path of the field that a CEL rule names in its fieldPath. The path begins below the
// schema s. The result is "" if the rule has no fieldPath: then the rule is about the value of s itself.
func fieldBelow(s *structural.Structural, rule apiextensionsv1.ValidationRule) string {
	if rule.FieldPath == "" {
		return ""
	}
	path, _, err := cel.ValidFieldPath(rule.FieldPath, s)
	must(err, rule.FieldPath)
	return path.String()
}

// memoized is a schema of the Kubernetes library that makes the schemas of its properties, items and additional
// properties only once. Without this, the library makes them again at each call.
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

// memoize returns a copy of the schema s that makes the schemas inside it only once (see memoized), at all
// depths.
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

// self has the variables of a rule (it is a CEL Activation). The only variable is self, the value that the rule
// checks.
type self struct{ value ref.Val }

func (s *self) ResolveName(name string) (any, bool) { return s.value, name == cel.ScopedVarName }
func (s *self) Parent() celgo.Activation            { return nil }

// ruleRun runs the CEL rules of one object, and records what violates them.
type ruleRun struct {
	*mistakes
	most   int   // how many JSON values a small value contains at most
	small  bool  // the value is small (isSmall), so rules may run without a count of their cost (rule.program)
	budget int64 // how much the rules may still cost, in the units of the API server
}

// walk runs the CEL rules of the schema n on the value v, and the rules of the schemas inside n on the values
// inside v. It records a finding for each violated rule. It does nothing if v is nil, and stops when the cost
// budget of the object is used up.
func (r *ruleRun) walk(n *node, v any) {
	if !n.ruled || v == nil || r.budget < 0 {
		return
	}
	if within := r.small; !within { // what is inside of a small value is small
		r.small = isSmall(v, r.most)
		defer func() { r.small = within }()
	}
	if n.rules != nil && !r.run(n, v) {
		return
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

// ruledNames returns the sorted names whose values walk must visit, because their schemas have CEL rules. If
// the schema n is a map, the names are all keys of the parameter object. Otherwise they are the fields of n
// with rules, even if object does not set these fields. The order is fixed, so that the cost budget always ends
// at the same rule.
func (n *node) ruledNames(object map[string]any) []string {
	if n.values != nil && n.values.ruled {
		return slices.Sorted(maps.Keys(object))
	}
	return n.ruledFields
}

// run evaluates the CEL rules of the schema n on the value v, and records a finding for each violated rule. If
// the cost budget of the object is used up, run records the finding that the object is too large, and stops. run returns
// false if the value is beyond a limit (tooManyMatches), so that the rules inside of it need not run.
func (r *ruleRun) run(n *node, v any) (within bool) {
	within = true
	activation := &self{common.UnstructuredToVal(v, n.self)}
	for _, rule := range n.rules() {
		result, details, err := rule.program(r.small).Eval(activation)
		if cost := details.ActualCost(); cost != nil {
			r.budget -= int64(min(*cost, celconfig.RuntimeCELCostBudget+1))
		}
		switch {
		case r.budget < 0:
			r.violated(rule, "the object is too large for its rules to be checked", "split it into several")
			return false
		case err != nil || result != types.True: // an error means that a needed field is missing
			r.violated(rule, rule.message, ruleHints()[rule.message])
			within = within && rule.message != tooManyMatches
		}
	}
	return within
}

// tooManyMatches is the message of the rule that counts the matches of an HTTPRoute or GRPCRoute.
const tooManyMatches = "While 16 rules and 64 matches per rule are allowed, the total number of matches across all rules in a route must be less than 128"

// needsPort and needsPortOwn are the messages of rules that a reference violates if it is to a Service and has no port: in
// the Gateway API, and in references of our own kinds.
const (
	needsPort    = "Must have port for Service reference"
	needsPortOwn = "a reference to a Service needs a port"
	portHint     = "a Service needs a port; if it is a Backend, write group: gateway.kgateway.dev and kind: Backend"
)

// NeedsPort reports whether the finding is about a reference to a Service that has no port.
func (f Finding) NeedsPort() bool {
	return f.Code == RuleViolated && (f.Message == needsPort || f.Message == needsPortOwn)
}

// ruleHints returns what to do about a violated rule, by the message of the rule in the CRDs of the Gateway API.
func ruleHints() map[string]string {
	return map[string]string{
		needsPort: portHint, needsPortOwn: portHint,
	}
}

// violated records the finding that the value at the current path violates a rule. If the rule names a field
// (rule.field), the finding is about that field of the value.
func (r *ruleRun) violated(rule rule, message, hint string) {
	field := r.trail.text()
	if rule.field != "" {
		field += "." + rule.field
	}
	r.addAt(RuleViolated, field, message, hint)
}
