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

// soak is a snapshot that canaries accepted. Only canaries serve it for Staging.Wait; then it goes to the other Envoys.
// During this time, soak counts the requests that canaries send to clusters, and the failed ones among them.
type soak struct {
	*delta.Snapshot
	revision uint64
	since    time.Time
	// watched has the clusters whose requests are counted; nil until staging.watch has found the clusters. counted
	// has the requests by cluster.
	watched watched
	counted map[string]Requests
}

// minRequests is how many requests to a cluster must be counted before a high share of failed requests can freeze the
// revision (stop its promotion). This minimum applies only until Staging.Wait is over. Then any number is enough.
const minRequests = 20

// watched has the clusters whose requests are counted while canaries serve a revision that is not promoted yet.
// The value of a cluster is what the revision changed about it.
type watched map[string]Cause

// Cause is the change in a revision that can make requests to a cluster fail. There are two kinds:
//   - A new or changed route forwards to the cluster. Part is the route, and Type and Name identify its route table.
//   - The cluster or its endpoints changed. Part is zero, and Type and Name identify the changed resource.
type Cause struct {
	Type string            `json:"type"` // the type of the resource that changed
	Name string            `json:"name"` // the name of this resource
	Part xds.Part          `json:"part"`
	Sum  [sha256.Size]byte `json:"sum"` // the hash of Part
}

// Failure is why a revision is not promoted although canaries accepted it: too many requests to a cluster failed.
type Failure struct {
	Cause
	Cluster string   `json:"cluster"`
	Forms   Forms    `json:"forms"` // the versions to which the requests went
	Counted Requests `json:"counted"`
}

// Forms are the versions of a cluster and of its endpoints. A version is "" if there is no such resource.
type Forms struct {
	Cluster   string `json:"cluster"`
	Endpoints string `json:"endpoints"`
}

// watchedOf returns the clusters whose requests must be counted because of changes: a cluster that changed, a
// cluster whose endpoints changed, and a cluster to which a new or changed route forwards.
func watchedOf(changes []delta.Change) watched {
	out := watched{}
	for _, c := range changes {
		switch c.To.Type {
		case xds.ClusterType, xds.EndpointType:
			out.put(c.To.Name, Cause{Type: c.To.Type, Name: c.To.Name})
		case xds.RouteType:
			out.putRoutes(c)
		}
	}
	return out
}

// put stores why the requests to a cluster are counted. If there are several causes for one cluster, put keeps only
// the first in the order of Cause.before.
func (w watched) put(cluster string, cause Cause) {
	if old, known := w[cluster]; !known || cause.before(old) {
		w[cluster] = cause
	}
}

// before orders the Causes of one cluster, of which only the first is kept (see put). It reports whether c comes
// before o. A Cause with a route comes before a Cause without one. Causes with routes are ordered by the name of the
// route.
func (c Cause) before(o Cause) bool {
	if (c.Part.Route == "") != (o.Part.Route == "") {
		return c.Part.Route != ""
	}
	return cmp.Or(cmp.Compare(c.Part.Route, o.Part.Route), cmp.Compare(c.Part.Host, o.Part.Host), cmp.Compare(c.Name, o.Name)) < 0
}

// putRoutes stores the target clusters of the new and changed routes of a route table.
func (w watched) putRoutes(c delta.Change) {
	old := map[[sha256.Size]byte]bool{}
	if c.From != nil {
		old = sumsOf(c.From)
	}
	for _, piece := range xds.Pieces(c.To.Body) {
		if sum := piece.Sum(); piece.Route != "" && !old[sum] {
			for _, cluster := range clustersOf(piece.Body) {
				w.put(cluster, Cause{c.To.Type, c.To.Name, piece.Part, sum})
			}
		}
	}
}

// clustersOf returns the clusters that a route forwards requests to. body is an encoded Route.
func clustersOf(body []byte) (clusters []string) {
	var route routev3.Route
	if proto.Unmarshal(body, &route) != nil {
		return nil // gatefold encoded it, so this cannot happen
	}
	if cluster := route.GetRoute().GetCluster(); cluster != "" {
		clusters = append(clusters, cluster)
	}
	for _, weighted := range route.GetRoute().GetWeightedClusters().GetClusters() {
		clusters = append(clusters, weighted.GetName())
	}
	return clusters
}

// add counts the load reports of a canary, which arrived at the time now. It skips a report about a cluster that
// is not in s.watched. It also skips a report whose interval began before s.since, when the canaries accepted the
// revision.
func (s *soak) add(reports []*endpointv3.ClusterStats, now time.Time) {
	for _, report := range reports {
		name := report.GetClusterName()
		if _, watched := s.watched[name]; watched && !now.Add(-report.GetLoadReportInterval().AsDuration()).Before(s.since) {
			s.counted[name] = s.counted[name].plus(requestsOf(report))
		}
	}
}

// overBound returns a Failure for the first cluster, by name, whose share of failed requests exceeds bound (0 to
// 1), and nil if there is none. The parameter end is true if the time for which canaries serve the revision alone
// is over. If it is false, clusters with less than minRequests requests are skipped.
func (s *soak) overBound(bound float64, end bool) *Failure {
	for _, cluster := range slices.Sorted(maps.Keys(s.counted)) {
		counted := s.counted[cluster]
		if float64(counted.Failed) > bound*float64(counted.All) && (end || counted.All >= minRequests) {
			return &Failure{Cause: s.watched[cluster], Cluster: cluster, Counted: counted}
		}
	}
	return nil
}

// words returns the text of the problem that too many requests to a cluster failed. The parameter bound is
// Staging.MaxErrors, which the text quotes.
func (f *Failure) words(bound float64) string {
	why := fmt.Sprintf("Of %d requests that Envoys of stage canary sent to %s, %d failed with 5xx: %.1f%%, and --stage-max-errors is %g%%",
		f.Counted.All, f.Cluster, f.Counted.Failed, 100*float64(f.Counted.Failed)/float64(f.Counted.All), 100*bound)
	if f.Part.Route != "" {
		why += fmt.Sprintf(". The changed %s sends requests there", f.Part)
	}
	return why
}

// sumsOf returns the hashes of the parts of a route table (its routes and hosts) or of a filter (its JWT
// requirements).
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

// Requests counts requests that ended. The field All counts all of them, and Failed counts the requests that
// failed with 5xx.
type Requests struct {
	All    uint64 `json:"all"`
	Failed uint64 `json:"failed"`
}

// plus returns the sum of r and o.
func (r Requests) plus(o Requests) Requests { return Requests{r.All + o.All, r.Failed + o.Failed} }

// requestsOf returns the number of requests in a report about a cluster. Each retry counts as one more request.
func requestsOf(report *endpointv3.ClusterStats) (sum Requests) {
	for _, locality := range report.GetUpstreamLocalityStats() {
		failed := locality.GetTotalErrorRequests()
		sum = sum.plus(Requests{locality.GetTotalSuccessfulRequests() + failed, failed})
	}
	return sum
}
