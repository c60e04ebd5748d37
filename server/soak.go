package server

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// batch is what changes of a target, by name; a nil Entry is a removal.
type batch struct {
	entries  map[batchKey]*delta.Entry
	revision uint64 // with which it is complete
}

type batchKey struct{ gateway, typ, name string }

// soak is a batch that canaries accepted.
type soak struct {
	batch
	since time.Time
	// watched is nil until it is known which clusters are counted; counted is by cluster.
	watched watched
	counted map[string]Requests
}

func newBatch() batch { return batch{entries: map[batchKey]*delta.Entry{}} }

// minRequests is how many requests are enough to freeze a revision before its time with canaries is over.
const minRequests = 20

// watched are the clusters whose requests are counted while a revision soaks, each with what of the revision sends
// requests there.
type watched map[string]Cause

// Cause is what of a revision sends requests to a cluster: a route that changed or, with no Part, the cluster or its
// endpoints.
type Cause struct {
	Type string            `json:"type"` // of the resource
	Name string            `json:"name"` // of the resource
	Part xds.Part          `json:"part"`
	Sum  [sha256.Size]byte `json:"sum"` // of the part
}

// Failure is why a revision that canaries accepted is not promoted: too many requests failed on them.
type Failure struct {
	Cause
	Cluster string   `json:"cluster"`
	Forms   Forms    `json:"forms"` // that the requests went to
	Counted Requests `json:"counted"`
}

// Forms are the versions of a cluster and of its endpoints, "" for none.
type Forms struct {
	Cluster   string `json:"cluster"`
	Endpoints string `json:"endpoints"`
}

// change is a resource that a revision changes: as it is promoted, nil if it is new, and as it is to be.
type change struct{ from, to *delta.Entry }

// watchedOf returns the clusters that changed routes forward requests to, and those that changed themselves.
func watchedOf(changes []change) watched {
	out := watched{}
	for _, c := range changes {
		switch c.to.Type {
		case xds.ClusterType, xds.EndpointType:
			out.put(c.to.Name, Cause{Type: c.to.Type, Name: c.to.Name})
		case xds.RouteType:
			out.putRoutes(c)
		}
	}
	return out
}

// put notes a cause; of several for one cluster it keeps a route, and of routes the first by name.
func (w watched) put(cluster string, by Cause) {
	if old, known := w[cluster]; !known || by.before(old) {
		w[cluster] = by
	}
}

func (c Cause) before(o Cause) bool {
	if (c.Part.Route == "") != (o.Part.Route == "") {
		return c.Part.Route != ""
	}
	return cmp.Or(cmp.Compare(c.Part.Route, o.Part.Route), cmp.Compare(c.Part.Host, o.Part.Host), cmp.Compare(c.Name, o.Name)) < 0
}

// putRoutes notes the clusters of the routes of a table that are new or changed.
func (w watched) putRoutes(c change) {
	old := map[[sha256.Size]byte]bool{}
	if c.from != nil {
		old = sumsOf(c.from)
	}
	for _, piece := range xds.Pieces(c.to.Body) {
		if sum := piece.Sum(); piece.Route != "" && !old[sum] {
			for _, cluster := range clustersOf(piece.Body) {
				w.put(cluster, Cause{c.to.Type, c.to.Name, piece.Part, sum})
			}
		}
	}
}

// clustersOf returns the clusters that a route forwards requests to.
func clustersOf(body []byte) (clusters []string) {
	var route routev3.Route
	if proto.Unmarshal(body, &route) != nil {
		return nil // it is gatefold's own
	}
	if cluster := route.GetRoute().GetCluster(); cluster != "" {
		clusters = append(clusters, cluster)
	}
	for _, weighted := range route.GetRoute().GetWeightedClusters().GetClusters() {
		clusters = append(clusters, weighted.GetName())
	}
	return clusters
}

// add counts the reports of a canary, which end now.
func (s *soak) add(reports []*endpointv3.ClusterStats, now time.Time) {
	for _, report := range reports {
		name := report.GetClusterName()
		if _, watched := s.watched[name]; watched && !now.Add(-report.GetLoadReportInterval().AsDuration()).Before(s.since) {
			s.counted[name] = s.counted[name].plus(requestsOf(report))
		}
	}
}

// overBound returns the cluster whose requests failed most, if more failed than the bound allows; nil for none. Few requests
// count only at the end.
func (s *soak) overBound(bound float64, end bool) *Failure {
	for _, cluster := range slices.Sorted(maps.Keys(s.counted)) {
		counted := s.counted[cluster]
		if float64(counted.Failed) > bound*float64(counted.All) && (end || counted.All >= minRequests) {
			return &Failure{Cause: s.watched[cluster], Cluster: cluster, Counted: counted}
		}
	}
	return nil
}

// words says what failed.
func (f *Failure) words(bound float64) string {
	why := fmt.Sprintf("Of %d requests that Envoys of stage canary sent to %s, %d failed with 5xx: %.1f%%, and --stage-max-errors is %g%%",
		f.Counted.All, f.Cluster, f.Counted.Failed, 100*float64(f.Counted.Failed)/float64(f.Counted.All), 100*bound)
	if f.Part.Route != "" {
		why += fmt.Sprintf(". The changed %s sends requests there", f.Part)
	}
	return why
}

// sumsOf returns the sums of the parts of a table or filter.
func sumsOf(e *delta.Entry) map[[sha256.Size]byte]bool {
	sums := map[[sha256.Size]byte]bool{}
	if e.Type == xds.FilterType {
		for _, r := range xds.Requirements(e.Body) {
			sums[r.Sum()] = true
		}
		return sums
	}
	for _, p := range xds.Pieces(e.Body) {
		sums[p.Sum()] = true
	}
	return sums
}

// Requests counts requests that ended.
type Requests struct {
	All    uint64 `json:"all"`
	Failed uint64 `json:"failed"`
}

func (r Requests) plus(o Requests) Requests { return Requests{r.All + o.All, r.Failed + o.Failed} }

// requestsOf returns what a report says of a cluster. An attempt that is retried counts as a request.
func requestsOf(report *endpointv3.ClusterStats) (sum Requests) {
	for _, locality := range report.GetUpstreamLocalityStats() {
		failed := locality.GetTotalErrorRequests()
		sum = sum.plus(Requests{locality.GetTotalSuccessfulRequests() + failed, failed})
	}
	return sum
}
