package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/xds"
)

// until waits for a condition, which reads pages of the server.
func (r *running) until(what string, condition func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		began := time.Now()
		if condition() {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not within %s", what, patience)
		}
		time.Sleep(max(time.Millisecond, time.Since(began))) // the page of many resources takes long
	}
}

// seen is the stream of an Envoy as the page /api/v1/xds shows it, and the names of what is served to this Envoy, by
// type.
type seen struct {
	admin.Stream
	served map[string][]string
}

// streams returns all streams.
func (r *running) streams() (all []seen) {
	r.t.Helper()
	var page admin.XDS
	r.read(r.t, "/api/v1/xds", &page)
	for _, st := range page.Streams {
		served := map[string][]string{}
		for _, gateway := range page.Gateways {
			if strings.Contains(st.Cluster, "/") && st.Cluster != gateway.Name {
				continue
			}
			for typ, resources := range gateway.Resources {
				for _, resource := range resources {
					if !slices.Contains(served[typ], resource.Name) {
						served[typ] = append(served[typ], resource.Name)
					}
				}
			}
		}
		all = append(all, seen{st, served})
	}
	return all
}

// audience returns the streams of the Envoys that serve a Gateway: those of this Gateway, and those of all Gateways.
func (r *running) audience(gateway string) []seen {
	r.t.Helper()
	return slices.DeleteFunc(r.streams(), func(st seen) bool {
		return strings.Contains(st.Cluster, "/") && st.Cluster != gateway
	})
}

// one reports whether a single stream serves the Gateway, and whether the condition holds of it. An Envoy that has no
// CPU time for seconds may connect anew: for a moment there is no stream, or two.
func (r *running) one(gateway string, condition func(st seen) bool) bool {
	r.t.Helper()
	streams := r.audience(gateway)
	return len(streams) == 1 && condition(streams[0])
}

// of returns the progress of a type.
func (st seen) of(typ string) admin.TypeState { return st.Types[xds.ShortType(typ)] }

// answered reports whether nothing of a type, which the stream asked for, is due or unanswered.
func (st seen) answered(typ string) bool {
	progress, asked := st.Types[xds.ShortType(typ)]
	return asked && progress.Pending == 0
}

// settled reports whether nothing is to be sent or answered, and that the Envoy asked for all
// tables of its scope: a new listener asks for its own a moment after it was accepted.
func (st seen) settled() bool {
	for _, progress := range st.Types {
		if progress.Pending > 0 {
			return false
		}
	}
	return st.answered(cds) && st.answered(lds) && st.lacks() <= 0
}

// lacks returns how many tables are served that the Envoy neither holds nor rejected. An Envoy does not ask for the
// tables of a listener that it cannot bind.
func (st seen) lacks() int {
	lacks := len(st.served[xds.ShortType(rds)]) - st.of(rds).Acked
	for _, rejected := range st.of(rds).Rejected {
		if rejected.Held == "" {
			lacks--
		}
	}
	for _, rejected := range st.of(lds).Rejected {
		if !delta.BindFailed(rejected.Words) {
			continue
		}
		for _, table := range st.served[xds.ShortType(rds)] {
			if table == rejected.Name || strings.HasPrefix(table, rejected.Name+"/") {
				lacks--
			}
		}
	}
	return lacks
}

// holdsAll reports whether the stream is settled, and that the Envoy has no other resources of a type than those that
// are served.
func (st seen) holdsAll(typ string) bool {
	return st.settled() && st.of(typ).Acked == len(st.served[xds.ShortType(typ)])
}

// rejected returns the resources that the Envoy rejects.
func (st seen) rejected() (all []admin.Rejected) {
	for _, progress := range st.Types {
		all = append(all, progress.Rejected...)
	}
	return all
}

// quiet reports whether a single Envoy serves the Gateway, holds all that it is sent, and rejects nothing. It knows of
// rejected parts of tables only if the Gateway has a status.
func (r *running) quiet(gateway string) bool {
	r.t.Helper()
	return r.rejects(gateway, 0)
}

// rejects reports whether a single Envoy serves the Gateway, has answered all, and rejects so many parts of tables and
// no whole resource.
func (r *running) rejects(gateway string, parts int) bool {
	r.t.Helper()
	return r.one(gateway, func(st seen) bool { return st.settled() && len(st.rejected()) == 0 }) && r.rejectedParts(gateway) == parts
}

// rejectedParts returns how many parts of tables the status of the Gateway says that Envoys reject.
func (r *running) rejectedParts(gateway string) (count int) {
	r.t.Helper()
	if r.gatewayStatus(gateway) == nil {
		return 0
	}
	said := r.programmedOf(gateway, "").Message
	for _, consequence := range []string{"which answers 500 there", "which is left out there", "whose routes answer 403 there"} {
		count += strings.Count(said, consequence)
	}
	return count
}

// asked waits until some stream of shop/a or the union asks for n types.
func (r *running) asked(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d types asked for", n), func() bool {
		return slices.ContainsFunc(r.audience("shop/a"), func(st seen) bool { return len(st.Types) >= n })
	})
}

// shownStatus returns the status of an object as the pages show it, in compact JSON; nil where it has none.
func (r *running) shownStatus(key manifest.Key) json.RawMessage {
	r.t.Helper()
	code, body := r.page(r.t, http.MethodGet, fmt.Sprintf("/api/v1/status/%s/%s/%s", key.Kind, key.Namespace, key.Name), "")
	if code == http.StatusNotFound {
		return nil
	}
	var page struct {
		Items []struct{ Status json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || code != http.StatusOK {
		r.t.Fatal(code, body, err)
	}
	text, err := compacted(page.Items[0].Status)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// compacted returns JSON without white space.
func compacted(text json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	err := json.Compact(&out, text)
	return out.Bytes(), err
}

// gatewayStatus returns the status of a Gateway; nil if it has none.
func (r *running) gatewayStatus(gateway string) *gwv1.GatewayStatus {
	r.t.Helper()
	shown := r.shownStatus(ir.GatewayKey(gateway))
	if shown == nil {
		return nil
	}
	status := &gwv1.GatewayStatus{}
	if err := json.Unmarshal(shown, status); err != nil {
		r.t.Fatal(err)
	}
	return status
}

// programmedOf returns Programmed of a Gateway, or of one of its listeners.
func (r *running) programmedOf(gateway, listener string) metav1.Condition {
	r.t.Helper()
	shown := r.gatewayStatus(gateway)
	list := shown.Conditions
	if listener != "" {
		i := slices.IndexFunc(shown.Listeners, func(l gwv1.ListenerStatus) bool { return string(l.Name) == listener })
		list = shown.Listeners[i].Conditions
	}
	return list[slices.IndexFunc(list, func(c metav1.Condition) bool { return c.Type == "Programmed" })]
}
