package cli

import (
	"cmp"
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
			text, err := os.ReadFile(filepath.Join(dir, cmp.Or(key.Group, "core"), key.Kind, cmp.Or(key.Namespace, "_cluster"), key.Name+".yaml"))
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
