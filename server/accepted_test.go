package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate/cases"
)

// TestWhatIsAcceptedEnvoyAccepts writes random words into random fields of the
// folders of all cases: whatever is published of them, a real Envoy must take. One
// NACK may keep a whole table from being followed.
func TestWhatIsAcceptedEnvoyAccepts(t *testing.T) {
	folders, seed := testsize.Of(t, 60), testsize.Seed(t)
	all, err := cases.Load("../translate/testdata")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	run := startCase(t, all[0])
	tried, published, faults := 0, 0, 0
	for n := 0; n < folders && faults < 10; n++ {
		c := all[random.IntN(len(all))]
		folder := parseFolder(t, c.Steps[random.IntN(len(c.Steps))].Files)
		run.take(folder.tree())
		for range 8 {
			field, changed := folder.mutate(random)
			if field == "" || !changed {
				continue
			}
			tried++
			if run.take(folder.tree()) {
				published++
			}
			if run.rejected() {
				faults++
				t.Errorf("%s: Envoy rejects %s\n%s", c.Name, field, run.refusals())
			}
			folder.restore()
		}
	}
	t.Logf("%d changes of %d folders, %d of them changed what Envoy has", tried, folders, published)
	if published < folders*5/6 || published == tried {
		t.Error("hardly anything was tried, or nothing was refused before Envoy")
	}
}

// TestNoFieldCarriesWhatEnvoyRejects writes a line break, a name that Envoy keeps and a
// half expression into every field of the folders of all cases, once: it is not left to
// chance whether the names of headers are tried.
func TestNoFieldCarriesWhatEnvoyRejects(t *testing.T) {
	all, err := cases.Load("../translate/testdata")
	if err != nil {
		t.Fatal(err)
	}
	run, tried, headers := startCase(t, all[0]), map[string]bool{}, 0
	index := regexp.MustCompile(`\[\d+\]`)
	for _, c := range all {
		// The server of this test has no path policies, and without them expressions that are too large for Envoy are
		// sent: what a case under path policies proves need not hold here.
		if c.Store.ClusterPaths != nil {
			continue
		}
		folder, fresh := parseFolder(t, c.Steps[0].Files), false
		for _, at := range folder.leaves {
			value, text := at.value.(string)
			field := index.ReplaceAllString(at.path, "[]")
			if !text || tried[field] {
				continue
			}
			if !fresh {
				run.take(folder.tree())
				fresh = true
			}
			tried[field] = true
			if strings.Contains(strings.ToLower(field), "header") {
				headers++
			}
			for _, word := range []string{value + "\r\n\x00x", ":path", "(" + value} {
				at.set(word)
				run.take(folder.tree())
				if run.rejected() {
					t.Errorf("%s: Envoy rejects %s: %q\n%s", c.Name, field, word, run.refusals())
				}
			}
			at.set(value)
		}
	}
	t.Logf("%d fields, %d of them about headers", len(tried), headers)
	if headers < 20 {
		t.Error("hardly any field of a header was tried")
	}
}

// take publishes a folder and waits for Envoy's answer; it reports whether there was
// anything to send.
func (run *caseRun) take(files map[string]string) (sent bool) {
	run.t.Helper()
	result := run.translator.Apply(run.store.Apply(cases.Step{Files: files}.Tree(run.network)))
	run.Publish(result)
	moves, clean := false, false
	run.until("Envoy to answer", func() bool {
		streams := run.audience("default/eg")
		if len(streams) == 0 || addressMoves(streams[0]) {
			moves = moves || len(streams) > 0
			return false
		}
		clean = len(streams[0].rejected()) == 0
		return streams[0].settled() || !clean
	})
	clean = clean && !strings.Contains(run.refusals(), " rejected ")
	if moves && clean { // counted, and no fault of a field
		run.rejected()
	}
	return len(result.Delta) > 0
}

// addressMoves reports whether a listener waits for an address that another one is about
// to leave, as happens between folders of two cases.
func addressMoves(st seen) bool {
	for _, r := range st.of(lds).Rejected {
		if strings.Contains(r.Words, "has duplicate address") {
			return true
		}
	}
	return false
}

// refusals returns what the statuses of Gateways say, which includes what Envoy rejects.
func (run *caseRun) refusals() string { return run.get(run.t, "/api/v1/status/Gateway") }

// rejected reports whether Envoy counts more rejections than when it was asked last.
func (run *caseRun) rejected() bool {
	sum := 0
	for line := range strings.Lines(run.envoy.AdminGet("/stats?filter=update_rejected")) {
		_, figure, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.Atoi(figure)
		sum += n
	}
	more := sum > run.nacks
	run.nacks = sum
	return more
}

// folder is the documents of a folder, in which one field is changed at a time.
type folder struct {
	documents []map[string]any
	leaves    []leaf
	undo      func()
}

// leaf is a value that can be written anew.
type leaf struct {
	path  string
	value any
	set   func(any)
}

func parseFolder(t *testing.T, files map[string]string) *folder {
	t.Helper()
	f := &folder{undo: func() {}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for text := range strings.SplitSeq("\n"+files[name], "\n---") {
			document := map[string]any{}
			if yaml.Unmarshal([]byte(text), &document) != nil || document["kind"] == nil || document["kind"] == "Secret" {
				continue
			}
			f.documents = append(f.documents, document)
			kind := fmt.Sprint(document["kind"])
			for key := range document {
				if key == "apiVersion" || key == "kind" {
					continue
				}
				f.walk(kind+"."+key, document[key], func(v any) { document[key] = v })
			}
		}
	}
	slices.SortFunc(f.leaves, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	return f
}

// walk gathers the leaves, and the names of what has free ones.
func (f *folder) walk(path string, value any, set func(any)) {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			f.walk(path+"."+key, v[key], func(to any) { v[key] = to })
		}
		return
	case []any:
		for i := range v {
			f.walk(fmt.Sprintf("%s[%d]", path, i), v[i], func(to any) { v[i] = to })
		}
		return
	}
	f.leaves = append(f.leaves, leaf{path, value, set})
}

// mutate writes another word into one field, and says what.
func (f *folder) mutate(random *rand.Rand) (field string, changed bool) {
	if len(f.leaves) == 0 {
		return "", false
	}
	at := f.leaves[random.IntN(len(f.leaves))]
	to := mutated(random, at.value)
	at.set(to)
	f.undo = func() { at.set(at.value) }
	return fmt.Sprintf("%s: %.300q in place of %q", at.path, fmt.Sprint(to), fmt.Sprint(at.value)), fmt.Sprint(to) != fmt.Sprint(at.value)
}

func (f *folder) restore() { f.undo() }

func (f *folder) tree() map[string]string {
	var all []string
	for _, document := range f.documents {
		text, err := json.Marshal(document)
		if err != nil {
			panic(err)
		}
		all = append(all, string(text))
	}
	return map[string]string{"all.yaml": strings.Join(all, "\n---\n")}
}

// mutated returns another value of the kind.
func mutated(random *rand.Rand, value any) any {
	switch v := value.(type) {
	case bool:
		return !v
	case float64:
		return []int64{0, 1, -1, 2, 99, 100, 101, 599, 65535, 65536, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<53 - 1}[random.IntN(16)]
	case string:
		word := hostileWord(random)
		at := random.IntN(len(v) + 1)
		switch random.IntN(4) {
		case 0:
			return word
		case 1:
			return v + word
		case 2:
			return word + v
		}
		return v[:at] + word + v[at:]
	}
	return "x"
}

// hostileWord is what means something else to Envoy, or nothing at all: line ends,
// formatters, names that it keeps, syntax of expressions, numbers and lengths.
func hostileWord(random *rand.Rand) string {
	words := []string{
		"%", "%%", "%REQ(x)%", "%START_TIME%", "%FILTER_STATE(a)%", "%2", "%zz", "\r\n", "\r\nx: y", "\n", "\x00", "\x7f", "\t", "é", "\u2028", "\U0001f600",
		"host", ":path", ":authority", "Host", "transfer-encoding", "content-length", "connection", "te", "x_y", "X-", "-", "_", ".", "..", "/", "//", "/../", "/./",
		"?", "#", "?a=b", ";", ",", "=", "&", "+", " ", "\"", "'", "\\", "\\1", "\\0", "\\C", "\\pN", "\\Q", "\\z", "$", "^", "*", "*.", "*.x", ".*", "+?", "(", ")", "(?i)", "(?P<n>a)",
		"[", "]", "[a-", "[[:word:]]", "[^\\x00]", "{", "}", "{{", "{{ header(\"a\") }}", "{% if x %}", "{1001}", "{1000}", "a{500}{2}", "(a|b)*", "x{2,1}", "\\b", "(?=a)", "(?s).", "\\u0041",
		"0", "1", "-1", "0s", "1ns", "1ms", "0.5s", "1h", "2562047h", "9999999999s", "99999999999999999999", "1e9", "true", "null", "NaN", "http://", "https://*", "a:b", "[::1]", "::1", "0.0.0.0", "localhost", "unix:/x", "a@b", "GET", "get", "CONNECT", "*:80", ":0", ":99999",
	}
	word := words[random.IntN(len(words))]
	switch random.IntN(12) {
	case 0:
		return strings.Repeat(word, 1+random.IntN(300))
	case 1:
		return strings.Repeat("a", []int{62, 64, 254, 1025, 17 << 10, 70 << 10}[random.IntN(6)])
	case 2:
		return word + words[random.IntN(len(words))]
	}
	return word
}
