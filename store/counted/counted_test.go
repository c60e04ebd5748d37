package counted

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/cel-go/common/ast"
)

func TestRegexIsCountedFirst(t *testing.T) {
	for pattern, want := range map[string]string{
		strings.Repeat("a", 1024):                            "",
		strings.Repeat("a", 1025):                            "1025 bytes long, over the limit of 1024",
		"(" + strings.Repeat("a", 1000) + "){1000}":          "16384 instructions or more, over the limit of 4096",
		"(((a{9}){9}){9})" + strings.Repeat("(b{1000})", 9):  "9931 instructions or more",
		`(?:` + strings.Repeat(`\b`, 500) + `){1000}`:        "16384 instructions or more",
		`(?:` + strings.Repeat(`()`, 500) + `){1000}`:        "16384 instructions or more",
		`(?:` + strings.Repeat(`$|^|`, 240) + `){1000}`:      "16384 instructions or more",
		`(?:` + strings.Repeat(`(?:)`, 250) + `){1000}`:      "16384 instructions or more",
		`(?:(?:` + strings.Repeat("a", 900) + `){1000}){0,}`: "16384 instructions or more",
		`(?:a?b?c?d?){400}`:                                  "", // 3,202
		`(?:a?b?c?d?){513}`:                                  "4106 instructions or more",
		"a{4097}":                                            "invalid repeat count",
		"(a{100}){11}":                                       "invalid repeat count",
		`\PL{1000}`:                                          "", // one instruction for each class in Go
		"[":                                                  "missing closing ]",
	} {
		_, err := CompileRegex(pattern)
		if got := words(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%.40s: %q, want %q", pattern, got, want)
		}
		if _, err := Matcher(pattern, "^"+pattern); words(err) != words(ignore(CompileRegex(pattern))) {
			t.Errorf("%.40s: Matcher says %q", pattern, words(err))
		}
	}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func ignore(_ any, err error) error { return err }

func TestCostly(t *testing.T) {
	for pattern, costly := range map[string]bool{
		"/shop/[^/]+/items/[0-9]{1,10}": false,
		"[ab]{1000}":                    false,
		"[a-zA-Z]{999}":                 false,
		"[a-zA-Z0-9]{999}":              true,
		`\pL{200}`:                      false, // 7 ranges of bytes
		`\pL{400}`:                      true,
		`\PL{1000}`:                     true,
		"[^x]{999}":                     false,
		`(?:\pL{400}){0,}`:              true,
		`(?:\pL{400}){0}`:               false,
		"(?i)abcdefgh":                  false,
		"[":                             false, // another problem says so
	} {
		if got := Costly(pattern); (got != "") != costly {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

// The count is what Go compiles, so that no expression need be compiled to know whether it is below the limit.
func TestTheCountIsWhatGoCompiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for range 20_000 {
		pattern := randomRegex(r, 1+r.IntN(5))
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			continue
		}
		n := compiledSize(parsed)
		if n >= mostCounted {
			continue
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if compared++; n != len(program.Inst) {
			t.Fatalf("%s: %d, and Go has %d", pattern, n, len(program.Inst))
		}
	}
	if compared < 10_000 {
		t.Errorf("%d expressions were compared", compared)
	}
}

func randomRegex(r *rand.Rand, depth int) string {
	if depth == 0 {
		return pick(r, "a", "[ab]", ".", "^", "", "$", `\pL`, "xyz", `\b`, `[^\x00-\x{10FFFF}]`)
	}
	one, other := randomRegex(r, depth-1), randomRegex(r, depth-1)
	return pick(r, one+other, one+"|"+other, "("+one+")", "(?:"+one+"){0,7}", "(?:"+one+"){3}", "(?:"+one+"){2,}", "(?:"+one+"){0}", "(?:"+one+")*", "(?i:"+one+")?",
		"(?:"+one+"){0,}", "(?:"+one+"){1,}", "(?:"+one+"){1}", "(?:"+one+"){0,1}", "(?:"+one+"){2,5}?", "(?:"+one+"){3,4}", "(?:"+one+")+", "(?:"+one+")*?")
}

func pick(r *rand.Rand, values ...string) string { return values[r.IntN(len(values))] }

func TestCELIsCountedFirst(t *testing.T) {
	for text, want := range map[string]string{
		"'" + strings.Repeat("é", 16382) + "' == request.path":                       "over the limit of 16384",
		strings.Repeat("!a||", 4000) + "a":                                           "more than 500 parts",
		"!" + strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200):              "is not an expression of CEL",
		"a" + strings.Repeat(".b", 600):                                              "more than 500 parts",
		"a in [" + strings.Repeat("'x',", 600) + "'y']":                              "more than 500 parts",
		"request.path in [" + strings.Repeat("'&& || \\' //',", 490) + "\"a''&&b\"]": "",
		strings.Repeat("a||", 249) + "a // " + strings.Repeat("||a", 4000):           "",
	} {
		if _, err := ParseCEL(text); want == "" && err != nil || !strings.Contains(words(err), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}

// The count of the text is never more than the number of nodes, so that no expression is refused before the parse that
// would have been accepted after it.
func TestPartsAreALowerBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	read, equal := 0, 0
	for range 3000 {
		text := randomCEL(r, 4)
		parsed, err := environment().Parse(text)
		if err.Err() != nil {
			continue
		}
		read++
		nodes := countNodes(parsed.NativeRep().Expr())
		got := CELParts(text)
		if got > nodes {
			t.Fatalf("%s: %d parts, and %d nodes", text, got, nodes)
		}
		if got >= nodes*9/10 {
			equal++
		}
	}
	if read < 1000 || equal < read/2 {
		t.Errorf("%d expressions, of which %d are counted well", read, equal)
	}
}

func randomCEL(r *rand.Rand, depth int) string {
	if depth == 0 {
		return pick(r, "a", "request.path", "a.b.c", "'x && y'", `"it's"`, "1", "1.5e-3", "0x1e", "r'\\'", "'''a'b'''", "true", "b'x'", "-7", "7u", "null", ".a.b", "[]")
	}
	one, other := randomCEL(r, depth-1), randomCEL(r, depth-1)
	return pick(r, one+" && "+other, one+"||"+other, "("+one+")", "!"+one, "!!"+one, "a.startsWith("+one+")", one+".f("+other+").g", "size("+one+")",
		one+" in ["+one+","+other+"]", one+"["+other+"]", one+"-"+other, "-("+one+")", one+"<="+other, "has(a.b.c) ? "+one+":"+other, one+" // x && y\n", "(a).b."+"c == "+one)
}

// countNodes counts the nodes of an expression. A field of a name is one node with the name.
func countNodes(e ast.Expr) int {
	n := 1
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().Operand().Kind() != ast.IdentKind {
			n += countNodes(e.AsSelect().Operand())
		}
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			n += countNodes(e.AsCall().Target())
		}
		for _, arg := range e.AsCall().Args() {
			n += countNodes(arg)
		}
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			n += countNodes(element)
		}
	}
	return n
}

func TestCELPatterns(t *testing.T) {
	for text, want := range map[string]int{
		"request.path.matches('/a') || a.matches( 'b' )":  2,
		"request.path == 'matches(' // matches('x')\n":    0,
		"request.path.startsWith('/') && matches(a, 'b')": 1,
	} {
		if got := CELPatterns(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func FuzzCELParts(f *testing.F) {
	f.Add("a && 'b")
	f.Add("`")
	f.Add("a.`b`")
	f.Fuzz(func(t *testing.T, text string) {
		if n := CELParts(text); n > len(text) {
			t.Errorf("%d parts of %d bytes", n, len(text))
		}
	})
}
