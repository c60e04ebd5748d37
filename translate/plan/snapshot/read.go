package snapshot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/plan"
)

// ErrFormat is the error of Read for a snapshot that another version of gatefold wrote.
var ErrFormat = errors.New("another version of gatefold wrote it: compare with the version that runs")

// Read reads a snapshot from r, and returns its Head and its plan.Side. It returns ErrFormat if another version
// of gatefold wrote the snapshot. It returns another error if the snapshot is incomplete or invalid. The
// content of r is not trusted. Read uses memory in proportion to that content, so the caller must limit r.
func Read(r io.Reader) (head Head, side plan.Side, err error) {
	s := &reader{side: plan.Side{View: &ir.View{Clusters: map[string]*ir.Cluster{}}}}
	decoder := json.NewDecoder(bufio.NewReader(r))
	for !s.ended {
		var one record
		if err := decoder.Decode(&one); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return head, side, err
		}
		if err := s.take(one); err != nil {
			return head, side, err
		}
		s.count++
	}
	s.endHost()
	return s.head, s.side, nil
}

// Through writes a snapshot of the parameter side to memory, and reads it again. In the result, as in every
// snapshot, keyed sums (see Head.Key) stand in place of secrets. So the result can be compared with another snapshot
// that has the same key. A snapshot does not contain Places, so Through copies side.Places to the result. It returns
// the error of Write or Read.
func Through(head Head, side plan.Side) (plan.Side, error) {
	var text bytes.Buffer
	if err := Write(&text, head, side); err != nil {
		return plan.Side{}, err
	}
	_, out, err := Read(&text)
	out.Places = side.Places
	return out, err
}

// reader builds a Head and a plan.Side from records.
type reader struct {
	head  Head
	side  plan.Side
	rules []*ir.Rule // of the last host that was read
	count int
	ended bool
}

// take adds one record to the Head or the side, and sets r.ended at the End record. It returns an error if the
// record is invalid, or if the record is not allowed at this position. For a Head with another format it
// returns ErrFormat.
func (r *reader) take(one record) error {
	view := r.side.View
	switch {
	case (r.count == 0) != (one.Head != nil):
		return errors.New("its head is not its beginning")
	case one.Head != nil:
		if one.Head.Format != format() {
			return ErrFormat
		}
		r.head = *one.Head
	case one.Cluster != nil:
		view.Clusters[one.Cluster.Name] = one.Cluster
	case one.Certificate != nil:
		view.Certificates = append(view.Certificates, *one.Certificate)
	case one.Problem != nil:
		r.side.Problems = append(r.side.Problems, *one.Problem)
	case one.Object != nil:
		object := &manifest.Object{Key: one.Object.Key}
		copy(object.Hash[:], one.Object.Sum)
		r.side.Objects = append(r.side.Objects, object)
	case one.Stale != nil:
		r.side.Stale = append(r.side.Stale, *one.Stale)
	case one.Resource != nil:
		r.side.Resources = append(r.side.Resources, *one.Resource)
	case one.End != 0:
		if r.ended = one.End == r.count; !r.ended {
			return fmt.Errorf("it ends after %d parts of %d", r.count, one.End)
		}
	default:
		return r.takeTable(one)
	}
	return nil
}

// takeTable adds a record with a Gateway, a Port, a Host or a Rule to the View. It returns an error for a
// record of another kind, for an incomplete record, and for a record without its parent: a Port before any
// Gateway, for example.
func (r *reader) takeTable(one record) error {
	view := r.side.View
	gateway := len(view.Gateways) - 1
	switch {
	case one.Gateway != "":
		r.endHost()
		view.Gateways = append(view.Gateways, ir.GatewayView{Name: one.Gateway})
	case gateway < 0:
		return errors.New("a part is of no Gateway")
	case one.Port != nil && one.Port.Port != nil:
		r.endHost()
		view.Gateways[gateway].Ports = append(view.Gateways[gateway].Ports, ir.PortView{Port: one.Port.Port, Claims: one.Port.Claims})
	case len(view.Gateways[gateway].Ports) == 0:
		return errors.New("an entry belongs to no port")
	case one.Host != nil:
		r.endHost()
		port := &view.Gateways[gateway].Ports[len(view.Gateways[gateway].Ports)-1]
		port.Hosts = append(port.Hosts, ir.HostView{Chain: one.Host.Chain, Domain: one.Host.Domain, Forged: one.Host.Forged})
	case one.Rule != nil && one.Rule.Root != nil && one.Rule.Source != nil && r.host() != nil:
		r.rules = append(r.rules, one.Rule)
	default:
		return errors.New("an entry is of an unknown kind")
	}
	return nil
}

// host returns the last host that was read: rules that follow belong to it. It returns nil if the last port has
// no host.
func (r *reader) host() *ir.HostView {
	gateways := r.side.View.Gateways
	if len(gateways) == 0 || len(gateways[len(gateways)-1].Ports) == 0 {
		return nil
	}
	ports := gateways[len(gateways)-1].Ports
	hosts := ports[len(ports)-1].Hosts
	if len(hosts) == 0 {
		return nil
	}
	return &hosts[len(hosts)-1]
}

// endHost is called when no more rules of the last host can follow. It moves the rules that were read (the list
// r.rules) to the field Rules of that host. endHost does nothing if the last port has no host, or if the host already
// has rules.
func (r *reader) endHost() {
	if h := r.host(); h != nil && h.Rules == nil {
		rules := r.rules
		h.Rules, h.Len, r.rules = slices.Values(rules), len(rules), nil
	}
}
