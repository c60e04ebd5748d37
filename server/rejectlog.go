package server

import (
	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// rejectLog logs what one Envoy rejects. The logger in the field log adds the name of the Envoy to each line.
type rejectLog struct {
	log     zerolog.Logger
	version string // the version of Envoy
}

// rejection logs that an Envoy rejected the response r. The parameter request has Envoy's error. The parameter
// keeps is true if the Envoy still serves something that r would change or remove (session.keeps). The line is
// usually a warning. It has level debug in these cases:
//   - The rejection repeats an earlier one.
//   - r has a test table, which Envoy always rejects (xds.Probe).
//   - An address cannot be bound: tellBinds logs such addresses.
func (l rejectLog) rejection(r *delta.Response, request *delta.Request, keeps bool) {
	event := l.log.Warn()
	if r.Again || r.Probe || delta.BindFailed(request.GetErrorDetail().GetMessage()) {
		event = l.log.Debug()
	}
	event = event.Str("type", xds.ShortType(r.Type))
	switch {
	case r.Names() != 1:
	case len(r.Set) == 1:
		event = event.Str("name", r.Set[0].Name)
	default:
		event = event.Str("removed", r.Removed[0])
	}
	words := "an Envoy rejected an update and has no earlier version of it"
	if keeps {
		words = "an Envoy rejected an update and keeps the previous version"
	}
	event.Int("resources", r.Names()).Str("envoy", r.Words).Msg(words)
}

// maxFindings bounds how many parts of a route table or filter are logged one by one.
const maxFindings = 20

// refused logs the parts (xds.Part, such as routes) of route tables and filters that an Envoy rejects or is too
// old for. For each table or filter it logs at most maxFindings parts, and how many more there are.
func (l rejectLog) refused(parts []*delta.RejectedPart) {
	logged := map[string]int{} // by table
	for _, part := range parts {
		if logged[part.Table]++; logged[part.Table] > maxFindings {
			continue
		}
		event := l.log.Warn().Str("table", part.Table).Stringer("part", part.Part)
		switch {
		case part.Match: // before, it was a part that answers 500
			event.Str("envoy", part.Words).Msg("an Envoy rejects the match of a part of a table, too: the part is left out there")
		case part.Lack != nil:
			event.Str("version", l.version).Msg("an Envoy is too old for a part of a table, which answers 500 there: " + part.Words)
		default:
			event.Str("envoy", part.Words).Msg("an Envoy rejects a part of a table: it answers 500 there, and the rest of the table is served")
		}
	}
	for table, count := range logged {
		if more := count - maxFindings; more > 0 {
			l.log.Warn().Str("table", table).Int("parts", more).Msg("an Envoy rejects more parts of the table, or is too old for them: they answer 500 there, or are left out")
		}
	}
}
