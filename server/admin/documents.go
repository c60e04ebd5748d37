package admin

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/health"
	envoyhost "github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/status"
)

// Documents returns the content of each admin page as one value. The JSON pages write these values, and package
// page shows them as HTML, so that both have the same facts.
type Documents struct{ options Options }

// NewDocuments returns the documents for these options.
func NewDocuments(options Options) Documents { return Documents{options} }

// ErrUnloaded is the error of a document that needs a configuration, if nothing was published yet.
var ErrUnloaded = errors.New("nothing has been loaded yet")

// Problems returns the problems of the folder, and the state of the folder as a whole.
func (d Documents) Problems() ProblemList { return d.options.Loaded.Problems() }

// Status returns the objects that the filter selects, with their status, sorted by key. An empty list means that
// no selected object has a status.
func (d Documents) Status(filter board.Filter) board.List[board.Object[any]] {
	return d.options.Board.List(filter.Picks)
}

// Missing returns a message for the user, for a filter that names an object without a status. The message may
// suggest a similar object.
func (d Documents) Missing(filter board.Filter) string { return d.options.Board.Missing(filter) }

// Revisions returns the number of the served revision, and the last edits.
func (d Documents) Revisions() RevisionList { return d.options.Loaded.Revisions() }

// Generation returns a number that changes with each publication.
func (d Documents) Generation() uint64 { return d.options.Loaded.Generation() }

// Judgements returns a number that changes with each verdict on a Gateway: whether Envoys accepted it.
func (d Documents) Judgements() uint64 {
	d.options.Board.Refresh()
	return d.options.Board.Judgements()
}

// Streams returns the streams of the connected Envoys, the oldest first.
func (d Documents) Streams() []Stream { return d.options.Envoys.Streams() }

// Transport returns how xDS is served, and which clients were rejected.
func (d Documents) Transport() Transport { return d.options.Envoys.Transport() }

// Tree returns what is served as a tree of Gateways, hosts and routes. If places is true, each node has the file
// and line of its object. If places is false, the nodes have none, and the caller can add them to some nodes
// with explain.LocateNodes. The error is ErrUnloaded if nothing was published yet.
func (d Documents) Tree(filter explain.TreeFilter, places bool) ([]*explain.TreeNode, error) {
	facts, err := d.facts()
	if err != nil {
		return nil, err
	}
	if !places {
		facts.Places = nil
	}
	return explain.Tree(facts, filter), nil
}

// Places returns the file, line and column of fields, as the folder was read last, in the order of fields. The
// results are zero values if there is no folder, or if a change of the folder takes long.
func (d Documents) Places(fields []manifest.Field) []store.Place {
	if d.options.Folder == nil {
		return make([]store.Place, len(fields))
	}
	return d.options.Folder.Places(fields)
}

// Objects returns the served objects, in no order, and the options of the translation. A Secret is a copy with a
// placeholder for each value and without labels; for a Secret of --secret-dir, the field Value of the object is nil.
// The error is ErrBusy if a change of the folder takes long. If there is no folder, all results are zero values.
func (d Documents) Objects() (objects []*manifest.Object, options translate.Options, err error) {
	if d.options.Folder == nil {
		return nil, options, nil
	}
	still := d.options.Folder.Between(func(all []*manifest.Object, around translate.Surroundings) {
		objects, options = all, around.Options
	})
	if !still {
		return nil, options, ErrBusy
	}
	return objects, options, nil
}

// Labels returns the labels of each of the given objects, in their order. The labels of an object are nil if it
// is not served, if there is no folder, or if a change of the folder takes long.
func (d Documents) Labels(objects []manifest.Key) []map[string]string {
	if d.options.Folder == nil {
		return make([]map[string]string, len(objects))
	}
	return d.options.Folder.Labels(objects)
}

// Explain returns what happens to a request or connection. The parameter asked has the query parameters of
// /api/v1/explain: method, url, header ("name: value", repeatable), gateway and from. Explain returns an error if a
// query parameter is invalid, if the request fits no Gateway or several, or if the regular expressions of the rules
// would take too long. Before the first publication, the error is ErrUnloaded.
func (d Documents) Explain(asked url.Values) (*explain.Report, error) {
	facts, err := d.facts()
	if err != nil {
		return nil, err
	}
	if err := explain.CheckMethod(asked.Get("method")); err != nil {
		return nil, err
	}
	query, err := explain.NewQuery(explain.MethodFor(asked.Get("method"), asked.Get("url")), asked.Get("url"), asked["header"])
	if err != nil {
		return nil, err
	}
	query.Gateway = asked.Get("gateway")
	if err := query.SetFrom(asked.Get("from")); err != nil {
		return nil, err
	}
	return explain.Explain(facts, query)
}

// Envoys asks the connected Envoys which endpoints they do not use; all these queries together take at most
// askedFor. If an Envoy may not be asked or does not answer, its field Unknown has the reason. The result also has
// the Envoys that this machine should run, and the fleets with canaries.
func (d Documents) Envoys(ctx context.Context) EnvoyList {
	connected, view := d.options.Envoys.Connected(), d.options.Loaded.View()
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	var known map[string]*ir.Cluster
	if view != nil {
		known = view().Clusters
	}
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i := range connected {
		if q := &connected[i]; q.Envoy.Unknown == nil {
			group.Go(func() error {
				if !d.options.Survives("envoys", func() { q.Envoy.Ask(ctx, q.At, known) }) { // its answer is untrusted
					q.Envoy.Unknown = &health.Unknown{Message: "internal error; the log of gatefold has the details"}
				}
				return nil
			})
		}
	}
	_ = group.Wait() // the functions return no errors
	list := EnvoyList{Envoys: []health.Envoy{}, Supervised: d.Supervised(), Fleets: d.Fleets()}
	for _, q := range connected {
		list.Envoys = append(list.Envoys, q.Envoy)
	}
	return list
}

// Supervised returns the Envoys that this machine should run, sorted by Gateway.
func (d Documents) Supervised() []envoyhost.State { return d.options.Envoys.Supervised() }

// Fleets returns the fleets with canaries, sorted by Gateway.
func (d Documents) Fleets() []Fleet { return d.options.Envoys.Fleets() }

// facts returns the inputs of package explain, with the View that was published last. The error is ErrUnloaded
// if nothing was published yet.
func (d Documents) facts() (explain.Facts, error) {
	d.options.Board.Refresh()
	view, facts := d.options.Loaded.Facts()
	if view == nil {
		return facts, ErrUnloaded
	}
	facts.View = view()
	if folder := d.options.Folder; folder != nil {
		facts.Places, facts.Outlines, facts.Labels = folder.Places, folder.Outlines, folder.Labels
	}
	slices.SortFunc(facts.Statuses, func(a, b status.Update) int { return manifest.CompareKeys(a.Key, b.Key) })
	return facts, nil
}
