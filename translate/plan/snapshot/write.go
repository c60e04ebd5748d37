package snapshot

import (
	"encoding/json"
	"io"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

// Write writes a snapshot to w: first the parameter head, then the configuration in the parameter side, as records.
// The snapshot has no secrets. In place of each secret, it has an HMAC with the key head.Key (see seal). Only one
// rule at a time is in memory as JSON. Write returns an error if w fails or a record cannot be encoded.
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
	for i := range side.Stale {
		s.put(record{Stale: &side.Stale[i]})
	}
	for i := range side.Resources {
		s.put(record{Resource: s.resource(&side.Resources[i])})
	}
	s.put(record{End: s.count})
	return s.err
}

// writer writes records to its encoder, and stops at the first error.
type writer struct {
	seal
	encoder *json.Encoder
	count   int
	err     error
}

// put writes a record as one line, and counts it. After an error it does nothing.
func (w *writer) put(r record) {
	if w.err == nil {
		w.err = w.encoder.Encode(r)
		w.count++
	}
}

// port writes a port, its hosts and their rules.
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

// object returns the record of an object: its key, and the HMAC of its hash (see seal). The record of a Secret has
// only the key.
func (w *writer) object(o *manifest.Object) *object {
	if o.Key.Group == "" && o.Key.Kind == "Secret" {
		return &object{Key: o.Key}
	}
	return &object{o.Key, w.sum(string(o.Hash[:]))}
}

// resource returns a copy of r without content. HMACs (see seal) replace the version of r and, if r is a listener,
// the hashes of its filter chains and of the rest. A hash without a key could reveal a secret in the content.
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
