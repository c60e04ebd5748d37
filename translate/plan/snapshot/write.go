package snapshot

import (
	"encoding/json"
	"io"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

// Write writes a side. Only one of its rules at a time is in memory as JSON. The error is w's.
func Write(w io.Writer, head Head, side plan.Side) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	s := &writer{seal: seal{head.Key}, encoder: encoder}
	s.put(record{Head: &head})
	for _, gateway := range side.View.Gateways {
		s.put(record{Gateway: gateway.Name})
		for i := range gateway.Ports {
			s.port(&gateway.Ports[i])
		}
	}
	for _, cluster := range side.View.Clusters {
		s.put(record{Cluster: cluster})
	}
	for i := range side.View.Certificates {
		s.put(record{Certificate: &side.View.Certificates[i]})
	}
	for i := range side.Problems {
		s.put(record{Problem: &side.Problems[i]})
	}
	for _, o := range side.Objects {
		s.put(record{Object: s.object(o)})
	}
	for i := range side.Resources {
		s.put(record{Resource: s.resource(&side.Resources[i])})
	}
	s.put(record{End: s.count})
	return s.err
}

// writer writes records until an error.
type writer struct {
	seal
	encoder *json.Encoder
	count   int
	err     error
}

func (w *writer) put(r record) {
	if w.err == nil {
		w.err = w.encoder.Encode(r)
		w.count++
	}
}

func (w *writer) port(view *ir.PortView) {
	w.put(record{Port: &port{view.Port, view.Claims}})
	for _, h := range view.Hosts {
		w.put(record{Host: &host{h.Chain, h.Domain, h.Forged}})
		for rule := range h.Rules {
			if w.err != nil {
				return
			}
			w.put(record{Rule: w.rule(rule)})
		}
	}
}

func (w *writer) object(o *manifest.Object) *object {
	if o.Key.Group == "" && o.Key.Kind == "Secret" {
		return &object{Key: o.Key}
	}
	return &object{o.Key, w.sum(string(o.Hash[:]))}
}

// resource returns a resource with sums in place of versions, as these are sums of the content alone.
func (w *writer) resource(r *plan.Resource) *plan.Resource {
	out := &plan.Resource{Gateway: r.Gateway, Type: r.Type, Name: r.Name, Version: w.text(r.Version)}
	if sums := r.Sums(); sums != nil {
		out.Listener = &plan.ListenerSums{Rest: w.text(sums.Rest)}
		for _, chain := range sums.Chains {
			out.Listener.Chains = append(out.Listener.Chains, plan.ChainSum{ServerNames: chain.ServerNames, Sum: w.text(chain.Sum)})
		}
	}
	return out
}
