package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store/manifest"
)

// statusFollows waits until the folder has a file for each object of the page
// /api/v1/status, with what the page says of it, and none else. find is in one of them.
func (r *restarted) statusFollows(dir, find string) {
	r.t.Helper()
	admin := client{address: r.admin, timeout: patience}
	envoytest.Wait(r.t, "files as the page", func() error {
		var page struct{ Items []map[string]any }
		if err := admin.getJSON(r.t.Context(), "/api/v1/status", &page); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*"))
		if err != nil || len(files) != len(page.Items) {
			return errors.Join(err, fmt.Errorf("%d objects in files %q", len(page.Items), files))
		}
		found := false
		for _, item := range page.Items {
			key := keyOf(item)
			text, err := os.ReadFile(filepath.Join(dir, statusFile(key)))
			var written map[string]any
			if err := errors.Join(err, yaml.Unmarshal(text, &written)); err != nil {
				return err
			}
			if !reflect.DeepEqual(written, item) {
				return fmt.Errorf("%s: %v in the file, %v on the page", key, written, item)
			}
			found = found || strings.Contains(string(text), find)
		}
		if !found {
			return fmt.Errorf("no file has %q", find)
		}
		return nil
	})
}

// keyOf is the key of an object of the page.
func keyOf(item map[string]any) manifest.Key {
	text := func(value any) string { s, _ := value.(string); return s }
	meta, _ := item["metadata"].(map[string]any)
	group, _, _ := strings.Cut(text(item["apiVersion"]), "/")
	return manifest.Key{Group: group, Kind: text(item["kind"]), Namespace: text(meta["namespace"]), Name: text(meta["name"])}
}

func TestStatusFilesSayWhatThePageSays(t *testing.T) {
	r := newRestarted(t, "steady", "edited")
	dir := filepath.Join(t.TempDir(), "made", "status")
	r.change = func(o *serveOptions) { o.status.dir = dir }
	r.start()
	r.waitMetric("gatefold_last_reload_successful", 1)
	r.statusFollows(dir, "ResolvedRefs")
	steady := filepath.Join(dir, "gateway.networking.k8s.io", "HTTPRoute", "default", "steady.yaml")
	info, err := os.Stat(steady)
	r.must(err)
	if mode := info.Mode().Perm(); mode&^0o644 != 0 {
		t.Errorf("mode %s", mode)
	}
	r.write("edited.yaml", r.route("edited", "gone"))
	r.statusFollows(dir, "BackendNotFound")
	r.waitMetric("gatefold_status_dir_written", 1)
	r.stop()
	r.start()
	r.statusFollows(dir, "BackendNotFound")
	r.must(os.Rename(dir, dir+".aside"), os.WriteFile(dir, nil, 0o600))
	r.must(os.Remove(filepath.Join(r.folder, "edited.yaml")))
	r.waitMetric("gatefold_status_dir_written", 0)
	r.must(os.Remove(dir))
	r.waitMetric("gatefold_status_dir_written", 1)
	r.statusFollows(dir, "ResolvedRefs")
}

// A file whose status stays the same is not written again.
func TestStatusFileOfTheSameIsLeft(t *testing.T) {
	folder := statusFolder{dir: t.TempDir()}
	defer folder.close()
	stat := func(text string) os.FileInfo {
		t.Helper()
		if _, err := folder.open(); err != nil {
			t.Fatal(err)
		}
		if err := folder.put("g/k/n/a.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(folder.dir, "g/k/n/a.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := stat("a: 1\n")
	if !os.SameFile(first, stat("a: 1\n")) {
		t.Error("it was written again")
	}
	if os.SameFile(first, stat("a: 2\n")) {
		t.Error("it was written in place, and not by a rename")
	}
}

// No path leads out of the folder, neither by a name nor by a link.
func TestStatusFilesStayInTheirFolder(t *testing.T) {
	outside := t.TempDir()
	folder := statusFolder{dir: t.TempDir()}
	defer folder.close()
	if _, err := folder.open(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder.dir, "g")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "b.yaml"), []byte(statusMark), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"g/a.yaml", "../a.yaml", "/a.yaml", outside + "/a.yaml"} {
		if err := folder.put(file, nil); err == nil {
			t.Errorf("%s was written", file)
		}
	}
	if err := folder.remove("g/b.yaml"); err == nil {
		t.Error("g/b.yaml was removed")
	}
	if there, err := os.ReadDir(outside); err != nil || len(there) != 1 {
		t.Errorf("outside is %v, %v", there, err)
	}
}

// Each object has a file of its own, whose name is none too long for a disk.
func TestStatusFileOfEachObject(t *testing.T) {
	long := strings.Repeat("a", 252)
	seen := map[string]manifest.Key{}
	for _, key := range []manifest.Key{
		{Group: "g", Kind: "K", Namespace: "n", Name: "a"}, {Kind: "K", Namespace: "n", Name: "a"}, {Group: "g", Kind: "K", Name: "a"},
		{Group: "g", Kind: "K", Namespace: "n", Name: long + "a"}, {Group: "g", Kind: "K", Namespace: "n", Name: long + "b"},
	} {
		file := statusFile(key)
		if other, taken := seen[file]; taken || len(filepath.Base(file)) > 255 {
			t.Errorf("%s: %s, which %s has", key, file, other)
		}
		seen[file] = key
	}
	if file := statusFile(manifest.Key{Kind: "K", Name: "a"}); file != "core/K/_cluster/a.yaml" {
		t.Error(file)
	}
}
