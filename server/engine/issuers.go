package engine

import (
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/oidc"
)

// issuersFile is the file in the state folder with the last answers of OpenID issuers.
const issuersFile = "issuers"

// issuers requests the discovery documents of the OpenID providers that the folder names, in the background. It
// publishes again when an answer changes.
type issuers struct{ *oidc.Asker }

// newIssuers returns issuers with the answers of OpenID providers that were saved in the state folder. It passes
// these answers to the translator of the pipeline p, so that the first run already has them. It also registers the
// metrics of issuers at srv.
func newIssuers(options oidc.Options, p *pipeline, srv *server.Server) *issuers {
	i := &issuers{}
	options.Log, options.File = p.log, p.state.file(issuersFile)
	options.Changed = func() { p.discover(i) }
	i.Asker = oidc.New(options)
	p.translation.discover(i.Answers())
	srv.Register(i.figures()...)
	return i
}

// observe implements observer. After a publication it passes to the Asker which issuers the folder needs.
func (i *issuers) observe(r *run) {
	if r.published {
		i.Want(r.result.Issuers)
	}
}

// discover is called when the answer of an OpenID provider to a request for its discovery document has changed. It
// passes the current answers of all providers to the translator, and publishes again. The parameter from has the
// answers.
func (p *pipeline) discover(from *issuers) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.translation.discover(from.Answers()) // the current answers, because calls of discover may be in any order
	p.republish()
}

// figures returns the metrics of issuers.
func (i *issuers) figures() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		gauge("gatefold_issuers", "OpenID providers whose discovery documents are asked for.", func() int { asked, _ := i.Unanswered(); return asked }),
		gauge("gatefold_issuers_failing", "OpenID providers that had no usable discovery document when they were asked last.", func() int { _, failing := i.Unanswered(); return failing }),
	}
}

// file returns the path of a file in the state folder. It returns "" if gatefold saves no state: it runs without a
// state folder, or cannot use the folder.
func (s *state) file(name string) string {
	if s == nil || s.journal == nil {
		return ""
	}
	return filepath.Join(s.options.Dir, name)
}
