package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The library counts the cost of each evaluation of a CEL rule, and stops a rule that costs too much. For a
// small object, the counting takes more time than the rules. So a small object is checked without the counting
// (docs/design/inputs.md#cost-of-rules).

// maxPlain is the number of values in an object up to which the cost of its rules is not counted. A text counts
// once more for every textUnit bytes. The rules of the served kinds compare at most each item with each other
// item. So the cost is limited by the number of values.
const (
	maxPlain = 256
	textUnit = 1024
)

// isSmall reports whether a value of JSON has at most maxPlain values, so that the cost of its rules is not
// counted.
func isSmall(v any) bool {
	left := maxPlain
	return fits(v, &left)
}

// fits subtracts the number of values in v from left. It returns false, and counts no further, when left is
// negative.
func fits(v any, left *int) bool {
	*left--
	switch v := v.(type) {
	case string:
		*left -= len(v) / textUnit
	case map[string]any:
		for name, field := range v {
			if *left -= len(name) / textUnit; !fits(field, left) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !fits(item, left) {
				return false
			}
		}
	}
	return *left >= 0
}

// ruleEnvs is an EnvLoader that records the environment of each rule, by the text of the rule.
type ruleEnvs struct {
	cel.EnvLoader
	of map[string]*celgo.Env
}

// RuleEnv returns and records the environment of a rule.
func (r *ruleEnvs) RuleEnv(set *environment.EnvSet, expression string) *celgo.Env {
	env := r.EnvLoader.RuleEnv(set, expression)
	r.of[expression] = env
	return env
}

// plainProgram returns a function that returns the program of a rule without the counting of costs. The program
// is compiled at the first call of the function. env is the environment with which the library compiled the
// rule. The function returns an error if the rule cannot be compiled without the library's options.
func plainProgram(env *celgo.Env, expression string) func() (celgo.Program, error) {
	return sync.OnceValues(func() (celgo.Program, error) {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			return nil, issues.Err()
		}
		if usesOptionalOr(ast) {
			return nil, errors.New("or and orValue of optional values need options of the library's environment")
		}
		// The options of env turn the counting on, and no option turns it off.
		plain, err := celgo.NewCustomEnv(
			celgo.CustomTypeAdapter(env.CELTypeAdapter()), celgo.CustomTypeProvider(env.CELTypeProvider()), celgo.FunctionDecls(functions(env)...))
		if err != nil {
			return nil, err
		}
		return plain.Program(ast, celgo.EvalOptions(celgo.OptOptimize))
	})
}

// usesOptionalOr reports whether an expression calls the functions "or" or "orValue" of an optional value.
// cel-go implements both in options of an environment, which plainProgram leaves out.
func usesOptionalOr(ast *celgo.Ast) bool {
	for _, reference := range ast.NativeRep().ReferenceMap() {
		if slices.ContainsFunc(reference.OverloadIDs, func(id string) bool { return strings.HasPrefix(id, "optional_or") }) {
			return true
		}
	}
	return false
}

// functions returns the functions of an environment, sorted by name.
func functions(env *celgo.Env) (all []*decls.FunctionDecl) {
	declared := env.Functions()
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		all = append(all, declared[name])
	}
	return all
}
