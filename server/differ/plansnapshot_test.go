package differ

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/envoy/testsize"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/translate/plan/snapshot"
)

// TestPlanOfSnapshots writes both folders of a plan as a running gatefold gives them, and reads them again: the
// plan is the same.
func TestPlanOfSnapshots(t *testing.T) {
	worlds, seed := testsize.Of(t, 2), testsize.Seed(t)
	with := startShared(t, &recorder{seen: map[string][]*received{}})
	changed := 0
	for _, e := range editedBatch(t, seed, 0, worlds, with) {
		head := snapshot.NewHead(1, translate.Surroundings{})
		var sides [2]plan.Side
		for i, side := range e.sides {
			var err error
			if sides[i], err = snapshot.Through(head, side); err != nil {
				t.Fatal(err)
			}
		}
		report, err := plan.Compare(t.Context(), sides[0], sides[1])
		if err != nil {
			t.Fatal(err)
		}
		changed += len(report.Requests)
		if got, want := indented(t, report), indented(t, e.report); got != want {
			t.Errorf("%s (%s): the plan of snapshots is\n%s\nand of the folders\n%s", e.before.namespace, strings.Join(e.edits, ", "), got, want)
		}
	}
	if changed == 0 {
		t.Error("no request changes: it proves little")
	}
}

func indented(t *testing.T, report *plan.Report) string {
	t.Helper()
	text, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSnapshotHasNoCredentials writes a folder with every sort of credential.
func TestSnapshotHasNoCredentials(t *testing.T) {
	with := startShared(t, &recorder{seen: map[string][]*received{}})
	secrets := 0
	for _, e := range editedBatch(t, testsize.Seed(t), 0, 4, with) {
		var out bytes.Buffer
		if err := snapshot.Write(&out, snapshot.NewHead(1, translate.Surroundings{}), e.sides[0]); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secretsOf(e.before) {
			secrets++
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s: the snapshot has %q", e.before.namespace, secret)
			}
		}
	}
	if secrets == 0 {
		t.Error("there are no credentials: it proves nothing")
	}
}

// secretsOf returns the contents of the Secrets of a world.
func secretsOf(w *world) (out []string) {
	for _, i := range w.indexesOf("Secret") {
		for _, field := range []string{"stringData", "data"} {
			contents, _ := w.objects[i][field].(object)
			for _, value := range contents {
				if text, is := value.(string); is && len(text) > 8 {
					out = append(out, text)
				}
			}
		}
	}
	return out
}
