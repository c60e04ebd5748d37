package translate_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/cases"
)

// maxFuzzed bounds the texts that are tried, in bytes: more of them in the same time.
const maxFuzzed = 8 << 10

// FuzzTranslate edits a folder twice and back: nothing may panic, what was built
// step by step is what is built at once, and each message that is sent, with all that
// is inside of it, keeps the constraints of Envoy's API, which rejects it otherwise.
func FuzzTranslate(f *testing.F) {
	for _, seed := range fuzzSeeds(f) {
		f.Add(seed, "")
	}
	all, err := cases.Load("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range all {
		var texts []string
		for _, step := range c.Steps[:min(2, len(c.Steps))] {
			var files []string
			for _, name := range slices.Sorted(maps.Keys(step.Files)) {
				files = append(files, step.Files[name])
			}
			texts = append(texts, strings.Join(files, "\n---\n"))
		}
		f.Add(texts[0], texts[len(texts)-1])
	}
	folder := newWorld(f).store // it reads the schemas once
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > maxFuzzed {
			return
		}
		w := startedOn(folder, translate.Options{})
		for _, text := range []string{before, after, before} {
			w.apply(tree(map[string]string{"a.yaml": text}))
			w.checkCold(t)
			for at, update := range w.resources {
				message, err := anypb.UnmarshalNew(&anypb.Any{TypeUrl: update.Type, Value: update.Resource.Body}, proto.UnmarshalOptions{})
				if err == nil {
					err = validate(message.ProtoReflect())
				}
				if err != nil {
					t.Errorf("Envoy refuses %s: %v\n%s", at, err, protojson.Format(message))
				}
			}
		}
	})
}

// validate checks a message and all messages packed inside of it.
func validate(message protoreflect.Message) error {
	if packed, ok := message.Interface().(*anypb.Any); ok {
		inside, err := packed.UnmarshalNew()
		if err != nil {
			return err
		}
		return validate(inside.ProtoReflect())
	}
	if checked, ok := message.Interface().(interface{ ValidateAll() error }); ok {
		if err := checked.ValidateAll(); err != nil {
			return err
		}
	}
	var found error
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				found = validate(value.Message())
				return found == nil
			})
		case field.IsMap() || field.Message() == nil:
		case field.IsList():
			for i := 0; i < value.List().Len() && found == nil; i++ {
				found = validate(value.List().Get(i).Message())
			}
		default:
			found = validate(value.Message())
		}
		return found == nil
	})
	return found
}

// fuzzSeeds are gateway-api's own examples, sound and invalid, and oddities of YAML.
func fuzzSeeds(f *testing.F) []string {
	f.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		f.Fatalf("where is gateway-api: %v", err)
	}
	seeds := []string{
		"apiVersion: v1\nkind: List\nitems:\n- &a {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 0x50}]}}\n- *a\n",
		"{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"a\", \"labels\": {\"on\": yes}}}\r\n...\r\n%YAML 1.1\r\n---\r\n",
		"\ufeffapiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: !!str 1, creationTimestamp: 2026-13-01}\nspec: ~\n",
	}
	for _, folder := range []string{"examples", "hack/invalid-examples"} {
		root := filepath.Join(strings.TrimSpace(string(dir)), folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			seeds = append(seeds, string(text))
			return err
		})
		if err != nil {
			f.Fatal(err)
		}
	}
	return seeds
}
