package schema

import (
	"maps"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The library counts the cost of each evaluation of a CEL rule, and stops a rule that costs too much. For a
// small value, the counting takes more time than the rules. So a small value is checked without the counting, whether it
// is an object or a part of a large one (docs/design/inputs.md#cost-of-rules).

const (
	// maxPlain is the largest number of values in a small value. The number of values limits the cost of the rules:
	// at most, a rule of the served kinds compares each item of a list with each other item.
	maxPlain = 256
	// textUnit is a number of bytes: a text counts as one more value for each textUnit bytes.
	textUnit = 1024
)

// isSmall reports whether v, a JSON value, is small: it contains at most so many values as the parameter most says, which is
// maxPlain except in tests. gatefold does not count the cost of the CEL rules on a small value.
func isSmall(v any, most int) bool { return fits(v, &most) }

// fits subtracts the number of JSON values in v from *left. A long text counts as several values (see maxPlain).
// fits returns true if *left is still 0 or more. If *left becomes negative, fits stops counting and returns
// false.
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

// keptEnv is a CEL EnvLoader of the Kubernetes library that also remembers the last environment it loaded.
type keptEnv struct {
	cel.EnvLoader
	env *celgo.Env
}

// RuleEnv loads the CEL environment for a rule, remembers the environment in k.env, and returns it.
func (k *keptEnv) RuleEnv(set *environment.EnvSet, expression string) *celgo.Env {
	k.env = k.EnvLoader.RuleEnv(set, expression)
	return k.env
}

// ruleEnv returns the CEL environment with which the Kubernetes library compiles the rules of the schema s. The
// library does not return this environment. So ruleEnv lets the library compile one short rule, and remembers
// the environment of this rule. The parameter root is true if s is the schema of a whole object. ruleEnv panics
// if the rule does not compile.
func ruleEnv(s *structural.Structural, root bool) *celgo.Env {
	short := *s
	short.XValidations = apiextensionsv1.ValidationRules{{Rule: "true"}}
	kept := &keptEnv{EnvLoader: cel.StoredExpressionsEnvLoader()}
	_, err := compile(&short, root, kept)
	must(err, "rules")
	return kept.env
}

// plainEnv returns a CEL environment with the types and functions of env, but without the options with which env
// was made. Those options turn the counting of costs on, and there is no option to turn the counting off.
func plainEnv(env *celgo.Env) (*celgo.Env, error) {
	return celgo.NewCustomEnv(
		celgo.CustomTypeAdapter(env.CELTypeAdapter()), celgo.CustomTypeProvider(env.CELTypeProvider()), celgo.FunctionDecls(functions(env)...))
}

// plainProgram returns a program that runs a compiled CEL rule without counting costs. The function env returns
// the environment for the program (see plainEnv). The result is nil if this environment cannot run the rule
// (see usesOptionalOr), or if the environment or the program cannot be created.
func plainProgram(env func() (*celgo.Env, error), rule *celgo.Ast) celgo.Program {
	if usesOptionalOr(rule) {
		return nil
	}
	plain, err := env()
	if err != nil {
		return nil
	}
	program, err := plain.Program(rule, celgo.EvalOptions(celgo.OptOptimize))
	if err != nil {
		return nil
	}
	return program
}

// reads reports whether a compiled CEL expression uses the variable with the given name.
func reads(expression *celgo.Ast, name string) bool {
	for _, reference := range expression.NativeRep().ReferenceMap() {
		if reference.Name == name {
			return true
		}
	}
	return false
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
