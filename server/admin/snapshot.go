package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/translate/plan/snapshot"
)

// ErrBusy is the error for an admin request that needs the state of the folder. It means that gatefold is applying a
// change of the folder, and takes longer than the request waits.
var ErrBusy = errors.New("gatefold is busy with a change of the folder: try again later")

// Snapshot returns what is served at one moment, so that `gatefold plan` can compare it with a folder. head has
// the number of the served revision, and the inputs of the translation that are not in the folder; side has the
// configuration. The error is ErrUnloaded if nothing was published yet or there is no folder, and ErrBusy if a
// change of the folder takes long.
func (d Documents) Snapshot() (head snapshot.Head, side plan.Side, err error) {
	if d.options.Folder == nil || d.options.Loaded.View() == nil {
		return head, side, ErrUnloaded
	}
	view := d.options.Loaded.View()
	still := d.options.Folder.Between(func(objects []*manifest.Object, around translate.Surroundings) {
		view = d.options.Loaded.View()
		side.Objects, side.Problems = objects, d.Problems().Problems
		_, stale := d.options.Board.Known()
		side.Stale = slices.Collect(maps.Keys(stale))
		served, _ := d.options.Envoys.Resources()
		for gateway, resources := range served {
			for _, r := range resources {
				side.Resources = append(side.Resources, plan.ResourceOf(gateway, r))
			}
		}
		head = snapshot.NewHead(d.Revisions().Revision, around)
	})
	if !still {
		return head, side, ErrBusy
	}
	side.View = view()
	return head, side, nil
}

// snapshot serves the page that `gatefold plan` reads: what is served at one moment.
func (p pages) snapshot(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r) {
		return
	}
	head, side, err := p.documents.Snapshot()
	if err != nil {
		answer(w, http.StatusServiceUnavailable, word{Error: err.Error()})
		return
	}
	w.Header().Set("Content-Type", snapshot.ContentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodHead {
		_ = snapshot.Write(visible.NewWriter(w), head, side) // it fails if the client stops reading
	}
}

// PlacesPath is the page that says where fields are written: ?field=, a manifest.Field as JSON, at most
// MaxPlaces times.
const PlacesPath = "/api/v1/places"

// MaxPlaces is the largest number of object fields whose places one request may ask for. For each field, gatefold
// parses a document again.
const MaxPlaces = 100

// PlaceList is the answer of /api/v1/places, in the order of the fields in the request.
type PlaceList struct {
	Places []store.Place `json:"places"`
}

// places is the page PlacesPath: where fields are written in the folder as it was read last.
func (p pages) places(w http.ResponseWriter, r *http.Request) {
	if !onlyQuery(w, r, "field") {
		return
	}
	asked := r.URL.Query()["field"]
	if len(asked) > MaxPlaces {
		answer(w, http.StatusBadRequest, word{Error: fmt.Sprintf("%d fields are more than %d", len(asked), MaxPlaces)})
		return
	}
	fields := make([]manifest.Field, len(asked))
	for i, text := range asked {
		if err := json.Unmarshal([]byte(text), &fields[i]); err != nil {
			answer(w, http.StatusBadRequest, word{Error: "a field is no JSON: " + err.Error()})
			return
		}
	}
	answer(w, http.StatusOK, PlaceList{p.documents.Places(fields)})
}
