package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/envoytest"
)

const mebibyte = 1 << 20

// hostile is a file that asks for more than a file may cost.
type hostile struct {
	name string
	text func() string
	// code is of the problem that it must be rejected with; none when it is sound.
	code string
}

// hostiles are the limits of a file, one by one: encodings, size, depth, width,
// bombs of aliases, numbers, and objects whose rules multiply.
func hostiles() []hostile {
	fixed := func(text string) func() string { return func() string { return text } }
	repeated := func(head, text string, n int, tail string) func() string {
		return func() string { return head + strings.Repeat(text, n) + tail }
	}
	sound := hostileRoute("sound", "hostnames: [sound.example.com]", "{}")
	return []hostile{
		{"aliases of 10^10 nodes", aliasBomb, "TooManyAliases"},
		{"lists 100,000 deep", repeated("# gatefold\n", "[", 100_000, ""), "TooDeep"},
		{"mappings 100,000 deep", repeated("# gatefold\n", "{a: ", 100_000, ""), "TooDeep"},
		{"16 MiB of one-byte items", repeated("# gatefold\na: [", "x,", 8*mebibyte-16, "]"), "DocumentTooLarge"},
		{"16 MiB and a byte", repeated("", "#", 16*mebibyte+1, ""), "FileTooLarge"},
		{"20,001 documents", repeated("", "a: b\n---\n", 20_000, "a: b\n"), "TooManyDocuments"},
		{"20,000 broken documents", repeated("", "kind: [\n---\n", 19_999, "kind: [\n"), "InvalidYAML"},
		{"40,000 keys", func() string {
			return strings.Replace(sound, "name: sound", "name: sound, annotations: {"+manyKeys(40_000)+"}", 1)
		}, ""},
		{"one key 100,000 times", repeated("# gatefold\n", "a: b\n", 100_000, ""), "DuplicateKey"},
		{"UTF-16", fixed("\xff\xfek\x00i\x00n\x00d\x00:\x00"), "InvalidUTF8"},
		{"bytes that are no UTF-8", repeated("a: ", "\xff", 15*mebibyte, "\n"), "InvalidUTF8"},
		{"NUL", repeated("a: ", "\x00", 15*mebibyte, "\n"), "BinaryFile"},
		{"a byte order mark", fixed("\ufeff" + sound), ""},
		{"a line of 15 MiB", repeated("# gatefold\na: b: ", "x", 15*mebibyte, "\n"), "InvalidYAML"},
		{"a name of 15 MiB", func() string {
			return strings.Replace(sound, "name: sound", "name: "+strings.Repeat("x", 15*mebibyte), 1)
		}, "InvalidValue"},
		{"a kind of 15 MiB", func() string { return strings.Replace(sound, "HTTPRoute", strings.Repeat("x", 15*mebibyte), 1) }, "UnknownKind"},
		{"a text of 15 MiB", repeated("kind: HTTPRoute\na: '", "x", 15*mebibyte, "'\n"), "RequiredField"},
		{"a float beyond all", fixed(hostileRoute("a", "", "{backendRefs: [{name: b, port: 1e400}]}")), "WrongType"},
		{"a number of 10^6 digits", func() string {
			return hostileRoute("a", "", "{backendRefs: [{name: b, port: "+strings.Repeat("9", 1_000_000)+"}]}")
		}, "WrongType"},
		{"a regex of 100 KB", func() string {
			return hostileRoute("a", "", "{matches: [{path: {type: RegularExpression, value: '/"+strings.Repeat("(a{0,9}){0,9}", 8_000)+"'}}]}")
		}, "TooLong"},
		{"10,000 hostnames", func() string { return hostileRoute("a", "hostnames: ["+manyHosts(10_000)+"]", "{}") }, "TooMany"},
		{"100,000 rules", func() string { return hostileRoute("a", "", "{}"+strings.Repeat(", {}", 99_999)) }, "TooMany"},
		{"rules that CEL walks", celRoute, "RuleViolated"},
		{"64 ports, 16 hosts, 112 matches, 10 routes", manyCopies, "TooManyCopies"},
		{"10^9 ways of delegation", delegationBomb, "TooManyRoutes"},
	}
}

func hostileRoute(name, head, rules string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s, namespace: hostile}\nspec:\n  %s\n  rules: [%s]\n", name, head, rules)
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, list(10, func(int) string { return fmt.Sprint("*a", i) }))
	}
	return b.String()
}

// list is n items as they stand in a YAML list.
func list(n int, item func(int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ", ")
}

func manyKeys(n int) string {
	return list(n, func(i int) string { return fmt.Sprintf("example.com/key%d: a value", i) })
}

func manyHosts(n int) string {
	return list(n, func(i int) string { return fmt.Sprintf("h%d.example.com", i) })
}

// celRoute has as much of what the rules of the CRD walk through as fits into
// its lists, and a mistake in each rule.
func celRoute() string {
	headers := list(16, func(i int) string { return fmt.Sprintf("{name: h%d, value: v}", i) })
	params := strings.ReplaceAll(headers, "name: h", "name: q")
	matches := list(8, func(i int) string {
		return fmt.Sprintf("{path: {value: '/%d%s//'}, headers: [%s], queryParams: [%s]}", i, strings.Repeat("/../a", 200), headers, params)
	})
	filters := list(16, func(int) string {
		return "{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /a}}}"
	})
	refs := list(16, func(i int) string { return fmt.Sprintf("{name: b%d, filters: [%s]}", i, filters) })
	return hostileRoute("a", "", list(16, func(int) string {
		return "{matches: [" + matches + "], filters: [" + filters + "], backendRefs: [" + refs + "]}"
	}))
}

// manyCopies is a Gateway of 64 ports and ten routes that stand behind each:
// more than a million entries in tables.
func manyCopies() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg, namespace: hostile}\nspec: {gatewayClassName: gatefold, listeners: [%s]}\n",
		list(64, func(i int) string { return fmt.Sprintf("{name: l%d, protocol: HTTP, port: %d}", i, 10_000+i) }))
	for route := range 10 {
		rules := list(16, func(rule int) string {
			return "{matches: [" + list(7, func(i int) string { return fmt.Sprintf("{path: {value: /%d/%d/%d}}", route, rule, i) }) + "]}"
		})
		b.WriteString("---\n" + hostileRoute(fmt.Sprint("r", route), "parentRefs: [{name: eg}]\n  hostnames: ["+manyHosts(16)+"]", rules))
	}
	return b.String()
}

// delegationBomb is nine levels of ten routes; each hands requests to all of
// the level below.
func delegationBomb() string {
	var b strings.Builder
	next := func(level int) string {
		return "{matches: [{path: {value: /a}}], backendRefs: [" + list(10, func(i int) string {
			return fmt.Sprintf("{group: gateway.networking.k8s.io, kind: HTTPRoute, name: l%d-%d}", level, i)
		}) + "]}"
	}
	b.WriteString(hostileRoute("root", "parentRefs: [{name: quickstart, namespace: default}]\n  hostnames: [bomb.example.com]", next(1)))
	for level := 1; level <= 9; level++ {
		for i := range 10 {
			rule := next(level + 1)
			if level == 9 {
				rule = "{matches: [{path: {value: /a}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example.com}}]}"
			}
			b.WriteString("---\n" + hostileRoute(fmt.Sprintf("l%d-%d", level, i), "", rule))
		}
	}
	return strings.ReplaceAll(b.String(), "namespace: hostile", "namespace: default")
}

// TestHostileFilesAreBounded runs the program itself on a sound folder with one
// hostile file in it. (The test is a process with a race detector perhaps; what
// is measured is built without.)
func TestHostileFilesAreBounded(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gatefold")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-race=false", "-buildvcs=false", "-o", program, "../..").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	table := []string{fmt.Sprintf("%-45s %8s %8s", "", "MiB", "CPU ms")}
	baseline := validateBeside(t, program, "")
	if baseline.memory < 8<<10 { // of which the program's text alone is more
		if os.Getenv("CI") == "true" {
			t.Errorf("this kernel tells of %d KiB of memory: the bound is not tried", baseline.memory)
		}
		t.Logf("THE BOUND OF MEMORY IS NOT TRIED: this kernel tells of %d KiB", baseline.memory)
	}
	for _, h := range append(hostiles(), hostile{"nothing", func() string { return "" }, ""}) {
		t.Run(h.name, func(t *testing.T) {
			v := validateBeside(t, program, h.text())
			table = append(table, fmt.Sprintf("%-45s %8d %8d", h.name, v.memory>>10, v.cpu))
			if v.memory > 256<<10 {
				t.Errorf("%d MiB of memory", v.memory>>10)
			}
			v.judge(t, h.code, baseline)
		})
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// validated is what a run of `gatefold validate` said and took.
type validated struct {
	report
	exit   int
	output int // bytes
	memory int // KiB
	cpu    int // milliseconds
}

// fewerDifferences make the peak of memory what the work needs, on every machine: the
// collector hurries, on two cores, and the kernel gives no huge pages unasked, which
// fill up what lies between.
func fewerDifferences() []string {
	return []string{"GOGC=", "GOMEMLIMIT=128MiB", "GOMAXPROCS=2", "GODEBUG=disablethp=1"}
}

// validateBeside runs validate on the quickstart with a file hostile.yaml in it.
func validateBeside(t *testing.T, program, text string) validated {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("../../examples/quickstart")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "hostile.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	usage := filepath.Join(t.TempDir(), "usage")
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "measured", usage, program, "validate", "-o", "json", folder)
	cmd.Env = append(os.Environ(), fewerDifferences()...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || stderr.Len() > 0) {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	v := validated{exit: cmd.ProcessState.ExitCode(), output: stdout.Len()}
	measured, err := os.ReadFile(usage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(measured), &v.memory, &v.cpu); err != nil {
		t.Fatalf("%v: %q", err, measured)
	}
	if err := json.Unmarshal(stdout.Bytes(), &v.report); err != nil {
		t.Fatalf("%v: %.300s", err, stdout.String())
	}
	return v
}

// judge wants the problem with that code, which names the file and what to do,
// and of the objects beside it all and no complaint.
func (v validated) judge(t *testing.T, code string, baseline validated) {
	t.Helper()
	if wantExit := min(len(code), 1); v.exit != wantExit {
		t.Errorf("exit code %d, want %d", v.exit, wantExit)
	}
	if v.Objects < baseline.Objects {
		t.Errorf("%d objects, without it %d", v.Objects, baseline.Objects)
	}
	if v.output > mebibyte {
		t.Errorf("%d bytes of output", v.output)
	}
	limits := []string{"TooManyAliases", "TooDeep", "DocumentTooLarge", "FileTooLarge", "TooManyDocuments", "TooManyCopies", "TooManyRoutes"}
	found := code == "" && v.Errors == 0
	for _, p := range v.Problems {
		found = found || p.Code == code && filepath.Base(p.File) == "hostile.yaml"
		if filepath.Base(p.File) != "hostile.yaml" {
			t.Errorf("a problem of another file: %.300q", p.Text(false))
		}
		if slices.Contains(limits, p.Code) && p.Hint == "" {
			t.Errorf("it does not say what to do: %.300q", p.Text(false))
		}
	}
	if !found {
		t.Errorf("no problem %q: %.1000q", code, fmt.Sprint(v.Problems))
	}
}

// TestHostileFilesHoldUpNoEdit drops the files into a served folder one after
// the other; Envoy follows an edit of another file while each is there, and no
// request to a route that none touches fails.
func TestHostileFilesHoldUpNoEdit(t *testing.T) {
	t.Parallel() // with the others that wait for most of their time
	s := startServed(t, "edited", "steady")
	load := envoytest.StartLoad(t, envoytest.LoadOptions{Targets: []envoytest.Target{s.target("steady", "a"), s.target("edited", "a", "b")}})
	for i, h := range hostiles() {
		backend := []string{"b", "a"}[i%2]
		s.write("hostile.yaml", h.text())
		s.write("edited.yaml", s.route("edited", backend))
		s.waitFor("edited", backend)
	}
	if err := os.Remove(filepath.Join(s.folder, "hostile.yaml")); err != nil {
		t.Fatal(err)
	}
	s.write("edited.yaml", s.route("edited", "b"))
	s.waitFor("edited", "b")
	wantNoFailure(t, load, 500)
}
