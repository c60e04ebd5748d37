package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// verdict returns the current verdict on a Gateway. Its message summarizes the answers of all Envoys of the
// Gateway.
func (v *verdicts) verdict(gateway string) board.Verdict {
	c, streams := v.scopeOf(gateway), v.audience(gateway)
	counted, before := v.standing(c), v.given[gateway]
	now := board.Verdict{Status: counted.status, Reason: counted.reason}
	if why := v.absent(gateway); why != "" || len(streams) == 0 {
		now.Message = cmp.Or(why, "No Envoy is connected for this Gateway.")
		return now
	}
	waiting, refusals, unbound := 0, []string(nil), unbound{}
	for _, st := range streams {
		v.looks++
		if _, refuses := st.refuses[c]; refuses {
			refusals = append(refusals, st.refusals(gateway, unbound)...)
		}
		if !st.state.Idle || st.lacks[c] > 0 {
			waiting++
		}
	}
	now.Unbound = unbound.words(counted.unbound, before.Unbound)
	switch now.Reason {
	case string(gwv1.GatewayReasonInvalid):
		// The errors of Envoys stay in the message until the Envoys have answered to something newer.
		now.Message = cmp.Or(sumUp(append(refusals, unbound.all()...)), before.Message)
	case string(gwv1.GatewayReasonPending):
		if why := v.frozen(c); why != "" {
			now.Message = why + "."
			return now
		}
		if waiting == 0 && (c.stage.soaks() || v.union.stage.soaks()) {
			now.Message = "Every connected Envoy of stage canary accepted the configuration. It goes to the others after --stage-wait."
			return now
		}
		now.Message = fmt.Sprintf("%d of %d connected Envoys have not accepted the configuration yet.", waiting, len(streams))
		if c.stage.waits() || v.union.stage.waits() {
			now.Message += " It goes to those of stage canary first."
		}
	default:
		now.Message = "Every connected Envoy accepted the configuration." + oldOnes(gateway, streams)
	}
	return now
}

// frozen returns why the newest revision of a Gateway is frozen: in the fleet of this Gateway, or in the fleet
// that serves all Gateways. If neither fleet is frozen, frozen returns "".
func (v *verdicts) frozen(c *scope) string {
	for _, of := range []*stage{c.stage, v.union.stage} {
		if of != nil && of.verdict.state == frozen {
			return of.verdict.problem
		}
	}
	return ""
}

// oldOnes returns a sentence that names the Envoys that are older than the tested version. For each of these
// Envoys, it says how many parts of the Gateway's route tables answer 500. It returns "" if no Envoy is older.
func oldOnes(gateway string, streams []*stream) string {
	var old []string
	for _, st := range streams {
		if st.old() {
			old = append(old, fmt.Sprintf("%q (%s%s)", cmp.Or(st.node, st.peer), st.version, st.closedParts(gateway)))
		}
	}
	if len(old) == 0 {
		return ""
	}
	slices.Sort(old)
	return fmt.Sprintf(" Older than Envoy %s, which gatefold is tested with: %s.", testedEnvoy(), strings.Join(slices.Compact(old), ", "))
}

// closedParts returns a text with how many parts of the Gateway's route tables (routes or hosts) answer 500 on
// this Envoy because it is too old for them. It returns "" if there are none.
func (st *stream) closedParts(gateway string) string {
	count, needs := 0, ""
	for part := range st.RejectedParts() {
		if part.Lack != nil && st.scope.Owns(gateway, xds.RouteType, part.Table) {
			count++
			needs = max(needs, part.Words)
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf(", where %d routes or hosts answer 500: %s", count, needs)
}

// refusals returns a text for each resource of a Gateway that this Envoy rejected, and for each rejected part of
// a route table or filter that is not in quarantine. If a listener is rejected because its address cannot be
// bound, its text is added to the parameter unbound instead.
func (st *stream) refusals(gateway string, unbound unbound) []string {
	var said []string
	for r := range st.Rejections() {
		if !st.scope.Owns(gateway, r.Type, r.Name) {
			continue
		}
		node := cmp.Or(st.node, st.peer)
		if delta.BindFailed(r.Words) {
			unbound[r.Name] = append(unbound[r.Name], board.BindWords(node, r.Words))
		} else {
			said = append(said, fmt.Sprintf("Envoy %q rejected %s %q: %s", node, xds.ShortType(r.Type), r.Name, r.Words))
		}
	}
	return append(said, st.refusedRoutes(gateway)...)
}

// unbound has, by Envoy listener, the errors of Envoys that could not bind its address.
type unbound map[string][]string

// all returns the errors of all listeners, in no order.
func (u unbound) all() []string {
	return slices.Concat(slices.Collect(maps.Values(u))...)
}

// words returns a text for each Envoy listener whose address cannot be bound. The keys of the map listeners are the
// names of these listeners. A text has the errors of the listener in u. If u has no errors for a listener, its text
// comes from the map previous, which has the texts of the previous verdict. If the map listeners is empty, words
// returns nil.
func (u unbound) words(listeners map[string]int, previous map[string]string) map[string]string {
	var out map[string]string
	for name := range listeners {
		if out == nil {
			out = map[string]string{}
		}
		out[name] = cmp.Or(sumUp(u[name]), previous[name])
	}
	return out
}

// maxRefusals bounds how many rejections the message of a condition quotes. The Kubernetes API limits a message
// to 32,768 bytes.
const maxRefusals = 5

// sumUp joins rejections to one text. It sorts them in place, so that the text does not depend on the order of
// Envoys. It quotes at most maxRefusals rejections, and gives the number of the others.
func sumUp(refusals []string) string {
	slices.Sort(refusals)
	more := len(refusals) - maxRefusals
	if more > 0 {
		refusals = append(refusals[:maxRefusals:maxRefusals], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(refusals, "; ")
}

// standing is a verdict without its message: the values that decide whether the verdict changed.
type standing struct {
	status  metav1.ConditionStatus
	reason  string
	unbound map[string]int // only its keys matter
	// waits is true if the Gateway has Envoys, and its reason is Pending for another cause than a frozen
	// revision.
	waits bool
}

// standing returns the status, the reason and the unbound listeners of a Gateway, from its counts. The listeners
// are left out if the reason is Invalid, if no Envoy is connected, or if the Gateway's own Envoy does not run
// (see absent).
func (v *verdicts) standing(c *scope) standing {
	t, connected := &c.tally, len(c.streams)+len(v.union.streams) > 0
	pending := standing{status: metav1.ConditionFalse, reason: string(gwv1.GatewayReasonPending), waits: connected}
	switch {
	case v.absent(c.name) != "" || !connected:
		return pending
	case t.refusing > 0:
		return standing{status: metav1.ConditionFalse, reason: string(gwv1.GatewayReasonInvalid)}
	case v.frozen(c) != "":
		pending.unbound, pending.waits = t.unbound, false
		return pending
	case t.busy+v.union.tally.busy+t.lacking > 0, c.stage.waits(), v.union.stage.waits():
		pending.unbound = t.unbound
		return pending
	}
	return standing{status: metav1.ConditionTrue, reason: string(gwv1.GatewayReasonProgrammed), unbound: t.unbound}
}

// of reports whether the verdict v has the same status, the same reason and the same unbound listeners as this
// standing. It ignores messages.
func (now standing) of(v board.Verdict) bool {
	same := now.status == v.Status && now.reason == v.Reason && len(now.unbound) == len(v.Unbound)
	for listener := range now.unbound {
		_, known := v.Unbound[listener]
		same = same && known
	}
	return same
}

// consequence returns what happens to requests at an Envoy that rejects this part of a route table or filter: for
// example "which answers 500 there".
func consequence(part *delta.RejectedPart) string {
	switch {
	case part.Requirement != "":
		return "whose routes answer 403 there"
	case part.Match:
		return "which is left out there: its requests go to the next route or host that matches, or are answered with 404"
	}
	return "which answers 500 there"
}

// refusedRoutes returns a text for each part of a Gateway's route tables and filters that this Envoy rejected,
// sorted. It leaves out parts that are in quarantine, because they are reported at the user's object.
func (st *stream) refusedRoutes(gateway string) []string {
	var texts []string
	for part := range st.RejectedParts() {
		if part.Quarantined() || !st.scope.Owns(gateway, part.Type(), part.Table) {
			continue
		}
		texts = append(texts, fmt.Sprintf("Envoy %q rejected %s, %s: %s", cmp.Or(st.node, st.peer), part.Part, consequence(part), part.Words))
	}
	slices.Sort(texts)
	return texts
}
