package importer

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/testsize"
)

// Each manifest of the corpus is imported, as it is and changed at random: nothing panics, every
// leaf has a verdict, and what is blocked writes nothing.
func TestCorpus(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/corpus.txtar")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, file := range archive.Files {
		source, _, _ := strings.Cut(file.Name, "/")
		count[source]++
		t.Run(file.Name, func(t *testing.T) {
			checkManifest(t, source, string(file.Data))
			random := rand.New(rand.NewPCG(testsize.Seed(t), uint64(len(file.Data))))
			for range testsize.Of(t, 8) {
				if changed := changedManifest(t, random, file.Data); !t.Failed() {
					checkManifest(t, source, changed)
				}
			}
		})
	}
	for _, source := range []string{"cluster", "ingress", "traefik"} {
		if count[source] < 15 {
			t.Errorf("%d manifests of %s", count[source], source)
		}
	}
}

// What a hint says to accept can be accepted.
func TestHintsNameWhatIsThere(t *testing.T) {
	tried := 0
	for _, name := range []string{"corpus", "cluster", "ingress", "traefik"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			source := name
			if name == "corpus" {
				source, _, _ = strings.Cut(file.Name, "/")
			}
			if strings.HasSuffix(file.Name, ".yaml") {
				tried += checkHints(t, source, string(file.Data))
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d hints", tried)
	}
}

// checkHints accepts what each hint of an import says, and returns how many do.
func checkHints(t *testing.T, source, content string) (tried int) {
	t.Helper()
	read := readers()[source]
	accept := regexp.MustCompile(`--accept (\S+[^\s;.,])`)
	for _, v := range readWith(t, read, content).Result(nil).Verdicts {
		for _, found := range accept.FindAllStringSubmatch(v.Hint, -1) {
			tried++
			inputs, _ := Read("f.yaml", []byte(content))
			objects, err := read(inputs, Options{Secrets: true, Accept: []string{found[1]}})
			if err != nil {
				t.Fatal(err)
			}
			if !objects.accept.used[found[1]] {
				t.Errorf("%s %s: --accept %s names nothing that is there", v.Object, v.Message, found[1])
			}
		}
	}
	return tried
}

func readers() map[string]func([]Input, Options) (*Objects, error) {
	return map[string]func([]Input, Options) (*Objects, error){"cluster": Cluster, "ingress": Ingress, "traefik": Traefik}
}

func checkManifest(t *testing.T, source, content string) {
	t.Helper()
	read := readers()[source]
	objects := readWith(t, read, content)
	if source == "traefik" {
		checkLeaves(t, objects, content)
	} else {
		checkObjects(t, objects, content)
	}
	if result := objects.Result(nil); result.Blocked && len(result.Files) > 0 {
		t.Error("files are written although the import is blocked")
	}
	if t.Failed() {
		t.Fatalf("of\n%s", content)
	}
}

// changedManifest returns the documents of a file with one value changed in each.
func changedManifest(t *testing.T, random *rand.Rand, content []byte) string {
	t.Helper()
	inputs, err := Read("f.yaml", content)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, in := range inputs {
		text, err := yaml.Marshal(changedValue(random, in.Value, 0))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.Join(all, "---\n")
}

// changedValue goes a random way into a value, and changes what is there. Kinds and names stay.
func changedValue(random *rand.Rand, value any, depth int) any {
	odd := []any{"", "true", "x", "/", "10.0.0.0/8", int64(-1), int64(443), true, nil, []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": "y"}, []any{[]any{int64(1)}}}
	switch v := value.(type) {
	case map[string]any:
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(v)), func(key string) bool {
			return depth < 2 && slices.Contains([]string{"kind", "apiVersion", "name", "namespace"}, key)
		})
		if len(keys) == 0 || depth > 3 && random.IntN(8) == 0 {
			break
		}
		key := keys[random.IntN(len(keys))]
		switch random.IntN(10) {
		case 0:
			if depth > 1 {
				delete(v, key)
			}
		case 1:
			v[strings.ToUpper(key[:1])+key[1:]+"X"] = v[key]
		default:
			v[key] = changedValue(random, v[key], depth+1)
		}
		return v
	case []any:
		if len(v) > 0 && random.IntN(8) > 0 {
			i := random.IntN(len(v))
			v[i] = changedValue(random, v[i], depth+1)
			return v
		}
	}
	return odd[random.IntN(len(odd))]
}
