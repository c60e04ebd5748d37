package explain

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// addCluster adds to the report the objects, endpoints, hash policies and TLS settings of the backend's cluster. If
// the cluster is closed, it also adds the reason (Closed).
func (r *BackendReport) addCluster(cluster *ir.Cluster) {
	for _, object := range cluster.Objects {
		r.Objects = append(r.Objects, Source{Object: object})
	}
	r.Endpoints, r.Closed = Endpoints(cluster), cluster.Closed
	if balancer := balancerOf(cluster); balancer != nil {
		r.Hashed = hashWords(balancer.Hash)
	}
	if cluster.TLS == nil {
		return
	}
	tls := cluster.TLS
	r.TLS = &TLSReport{Hostname: tls.Hostname, Policy: Source{Object: tls.Policy}}
	for _, name := range tls.Names {
		kind := "DNS "
		if name.URI {
			kind = "URI "
		}
		r.TLS.Names = append(r.TLS.Names, kind+name.Value)
	}
	for _, key := range tls.Authorities {
		r.TLS.Authorities = append(r.TLS.Authorities, Source{Object: key})
	}
	if tls.Client != (manifest.Key{}) {
		r.TLS.Client = &Source{Object: tls.Client}
	}
}

// balancerOf returns the load balancer that policies set for a cluster, or nil. The parameter cluster may be nil.
func balancerOf(cluster *ir.Cluster) *ir.Balancer {
	if cluster == nil || cluster.Upstream == nil {
		return nil
	}
	return cluster.Upstream.Balancer
}

// unservedWords returns, as text, why none of the backends gets requests. It names each reason once.
func unservedWords(all []BackendReport) string {
	var words []string
	for _, b := range all {
		why := b.Cluster + ": " + b.Closed
		if b.Cluster == "" {
			why = b.Reason
		}
		if !slices.Contains(words, why) {
			words = append(words, why)
		}
	}
	return strings.Join(words, "; ")
}

// Endpoints returns the addresses of a cluster's endpoints, each as "address:port". The text of a draining
// endpoint ends with " (draining)".
func Endpoints(cluster *ir.Cluster) []string {
	var all []string
	for _, e := range cluster.Endpoints {
		address := net.JoinHostPort(e.Host, strconv.FormatUint(uint64(e.Port), 10))
		if e.Draining {
			address += " (draining)"
		}
		all = append(all, address)
	}
	return all
}

// backends adds to the report each backend that the request may be forwarded to.
func (b *requestReporter) backends() {
	for _, target := range b.answer.Outcome.Backends {
		out := BackendReport{
			Cluster: target.Cluster, Status: target.Status, Weight: target.Target.Weight, Percent: target.Percent,
			GRPCStatus: grpcWords(target.GRPC, target.Status),
			At:         Source{Object: b.answer.Rule.Source.Key, Field: target.Target.Field},
		}
		if target.Cluster == "" {
			out.Reason = b.messages(func(p *manifest.Problem) bool { return concerns(p, out.At.Object, out.At.Field) })
		} else if target.Status == 0 {
			out.Receives = &ReceivesReport{
				Method: b.query.Method, Host: target.Host, Path: b.answer.Outcome.Path, Headers: target.Headers,
			}
		}
		if cluster := b.facts.View.Clusters[target.Cluster]; cluster != nil {
			out.addCluster(cluster)
		}
		if target.Cluster != "" && target.Status != 0 {
			out.Closed = cmp.Or(out.Closed, "it has no endpoint")
		}
		b.report.Backends = append(b.report.Backends, out)
	}
}
