package expect

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/translate/ir"
)

const (
	// closed is the outcome of a line for a connection that is closed, or a port on which nothing listens.
	closed = "closed"
	// notOffline is why a detail is not judged offline.
	notOffline = "only a running Envoy shows it: see --against"
)

// outcome returns the outcome that a line of a test file (r) expects, in the syntax of such a line.
func (r Request) outcome() string {
	switch {
	case r.Closed:
		return closed
	case len(r.Backends) == 0:
		return strings.TrimSpace(strconv.Itoa(r.Status) + " " + r.Location)
	}
	var words []string
	for _, name := range r.BackendNames() {
		word := name
		if len(r.Backends) > 1 {
			word += "=" + strconv.Itoa(r.Backends[name])
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// gotWords returns an outcome as text, in the syntax in which a test line writes the expected outcome, with the
// namespace of each backend. If Envoy answers with a status in place of the backends, the status follows in
// parentheses.
func gotWords(got explain.Outcome) string {
	if len(got.Backends) == 0 {
		return strings.TrimSpace(strconv.Itoa(int(got.Status)) + " " + got.Location)
	}
	shares := map[string]float64{}
	for _, b := range got.Backends {
		name := strconv.Itoa(int(b.Status))
		if b.Cluster != "" {
			namespace, own := splitCluster(b.Cluster)
			name = namespace + "/" + own
		}
		shares[name] += b.Percent
	}
	words := sharesWords(shares)
	if got.Status != 0 {
		words += fmt.Sprintf(" (%d)", got.Status)
	}
	return words
}

// sharesWords returns shares as text, in the syntax of a line of a test file, such as "v1=90 v2=10". The parameter
// shares has the shares in percent, by name: the name of a backend, a status in place of a backend, or "closed". If
// there is only one name, the text is that name without its share.
func sharesWords(shares map[string]float64) string {
	names := slices.Sorted(maps.Keys(shares))
	if len(names) == 1 {
		return names[0]
	}
	for i, name := range names {
		names[i] = name + "=" + strconv.FormatFloat(math.Round(shares[name]*100)/100, 'f', -1, 64)
	}
	return strings.Join(names, " ")
}

// sameShares reports whether shares are in proportion to weights. The parameter got has the shares in percent, and
// the parameter want has the weights. Each share may be up to 0.01 percentage points too high or too low.
func sameShares(got map[string]float64, want map[string]int) bool {
	total := 0
	for _, weight := range want {
		total += weight
	}
	same := len(got) == len(want)
	for name, weight := range want {
		same = same && math.Abs(got[name]-100*float64(weight)/float64(total)) <= 0.01
	}
	return same
}

// name returns the name of the backend of a cluster. The name is NAMESPACE/NAME if the line names the backend
// in this form, otherwise NAME alone. If the line expects NAME alone, and backends of several namespaces have this
// name, the method adds a doubt.
func (c *comparison) name(cluster string) string {
	namespace, name := splitCluster(cluster)
	for _, known := range []map[string]int{c.request.Backends, c.request.Mirrors} {
		if _, whole := known[namespace+"/"+name]; whole {
			return namespace + "/" + name
		}
	}
	_, expected := c.request.Backends[name]
	if expected && c.judge.names[name] == "" {
		c.doubt(outcome, fmt.Sprintf("several backends have the name %s: write NAMESPACE/%s", name, name))
	}
	return name
}

// outcome compares what happens to a request (the parameter got) with what the line expects, and adds the
// differences. The parameter rule is the rule that matches the request, or nil. outcome compares in this order:
//   - The backends with their shares, and the HTTP status if Envoy itself is to answer. If they differ, outcome
//     compares nothing else.
//   - The grpc-status, the location of a redirect, or the status that Envoy answers because no backend can.
//   - The details of the line: the object that denies the request, what the backend receives, and the headers of the
//     answer.
func (c *comparison) outcome(got explain.Outcome, rule *ir.Rule) {
	want, words := c.request, gotWords(got)
	shares := map[string]float64{}
	for _, b := range got.Backends {
		name := strconv.Itoa(int(b.Status))
		if b.Cluster != "" {
			name = c.name(b.Cluster)
		}
		shares[name] += b.Percent
	}
	forwarded := len(want.Backends) > 0
	grpc := got.GRPC && !forwarded
	switch code, _ := explain.GRPCStatus(got.Status); {
	case !grpc && !forwarded && int(got.Status) != want.Status, !sameShares(shares, want.Backends):
		c.differs(outcome, want.outcome(), words)
		return
	case grpc && strconv.Itoa(code) != want.GRPCStatus:
		c.differs("grpc", want.GRPCStatus, strconv.Itoa(code))
	case forwarded && !got.GRPC && got.Status != 0 && int(got.Status) != want.Failure: // no share has an endpoint
		c.differs("status", statusWords(want.Failure), strconv.Itoa(int(got.Status)))
	case want.Location != "" && got.Location != want.Location && explain.HasPlaceholder(got.Location):
		c.doubt(outcome, "it redirects to "+got.Location)
	case want.Location != "" && got.Location != want.Location:
		c.differs(outcome, want.outcome(), words)
	}
	c.by(got.By, got.Why)
	c.received(got)
	c.answered(got, rule)
}

// statusWords returns a status as text, "200" for 0.
func statusWords(status int) string {
	if status == 0 {
		return "200"
	}
	return strconv.Itoa(status)
}

// by compares the cause of Envoy's own answer with the cause that the line expects (the object Request.By). The
// parameter objects has the causes that package explain reports, and the parameter why is the reason from package
// explain, as text. by adds a difference if the expected object is not in objects, and a doubt if objects also has
// others. It adds nothing if the line expects no object.
func (c *comparison) by(objects []manifest.Key, why string) {
	want := c.request.By
	if want.Kind == "" {
		return
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.String())
	}
	switch found := slices.Contains(names, want.String()); {
	case found && len(names) == 1:
	case found:
		c.doubt("by", fmt.Sprintf("several objects have the settings that decide: %s", strings.Join(names, ", ")))
	case len(names) > 0:
		c.differs("by", want.String(), strings.Join(names, ", "))
	case why != "":
		c.differs("by", want.String(), "no policy: "+why)
	default:
		c.differs("by", want.String(), "no policy")
	}
}

// received adds differences between the path, host and headers that the line expects and those that the
// backends receive.
func (c *comparison) received(got explain.Outcome) {
	want := c.request
	if want.Path != "" && got.Path != want.Path {
		c.differs("path", want.Path, got.Path)
	}
	for _, b := range got.Backends {
		if want.Host != "" && b.Host != want.Host {
			c.differs("host", want.Host, b.Host)
		}
		for _, name := range slices.Sorted(maps.Keys(want.ToBackend)) {
			c.header("request "+name, want.ToBackend[name], b.Headers.Values(name))
		}
	}
}

// header adds a difference if the values of a header, joined with commas, are not the wanted value. The wanted value
// "-" means that the header is absent; "" also accepts an absent header. If a value has a placeholder, header adds a
// doubt instead. The parameter detail names the header in the difference or doubt, for example "request x-user".
func (c *comparison) header(detail, want string, values []string) {
	got := strings.Join(values, ",")
	switch {
	case want == "-" && len(values) == 0, want != "-" && len(values) > 0 && got == want, want == "" && len(values) == 0:
	case slices.ContainsFunc(values, explain.HasPlaceholder):
		c.doubt(detail, "it has "+got)
	case len(values) == 0:
		c.differs(detail, want, "-")
	default:
		c.differs(detail, want, got)
	}
}

// answered adds differences between the headers of the answer and those that the line expects. It adds a doubt
// for each detail that is not known offline.
func (c *comparison) answered(got explain.Outcome, rule *ir.Rule) {
	want := c.request
	if want.Failure != 0 && got.Status == 0 {
		c.doubt("status", notOffline)
	}
	if want.Protocol != "" {
		c.doubt("protocol", notOffline)
	}
	if want.Certificate != "" {
		c.doubt("certificate", notOffline)
	}
	for _, name := range slices.Sorted(maps.Keys(want.Answer)) {
		if want.GRPCStatus != "" && name == "Grpc-Status" {
			if len(want.Backends) > 0 {
				c.doubt("grpc", notOffline)
			}
			continue
		}
		values, known := answerHeader(got, rule, http.CanonicalHeaderKey(name))
		if !known {
			c.doubt("response "+name, notOffline)
			continue
		}
		c.header("response "+name, want.Answer[name], values)
	}
}

// mirrors adds differences between the copies that backends get and those that the line expects. Envoy copies requests
// that it forwards, and no others. mirrors does not check copies to backends that the line does not name.
func (c *comparison) mirrors(got explain.Outcome, rule *ir.Rule) {
	for _, name := range slices.Sorted(maps.Keys(c.request.Mirrors)) {
		want, count := c.request.Mirrors[name], 0
		if rule != nil && len(got.Backends) > 0 {
			count = c.copies(name, rule.Action.Mirrors)
		}
		if count != want {
			c.differs("mirror", fmt.Sprintf("%s=%d", name, want), fmt.Sprintf("%s=%d", name, count))
		}
	}
}

// copies returns how many in 100 requests are copied to a backend, 0 if the backend gets no copies.
func (c *comparison) copies(name string, mirrors []ir.Mirror) int {
	for _, m := range mirrors {
		if m.Cluster != "" && c.name(m.Cluster) == name {
			return int(uint64(m.Numerator) * 100 / uint64(m.Denominator))
		}
	}
	return 0
}

// answerHeader returns the values of a header in the answer that the client gets. The result known is true only if
// nothing but the header changes in the rule decides these values. Otherwise only a running Envoy shows the values:
// for example, no rule forwards the request, or the backend, a policy or Envoy may write the header.
func answerHeader(got explain.Outcome, rule *ir.Rule, name string) (values []string, known bool) {
	if rule == nil || len(got.Backends) == 0 || got.Status != 0 || writtenByEnvoy(name) {
		return nil, false
	}
	extras := rule.Action.Extras.OrNone()
	if extras.ExtProc != nil || len(extras.Response) > 0 || changes(&extras.ResponseHeaders, name) {
		return nil, false
	}
	for i, b := range got.Backends {
		mods := rule.Action.ResponseHeaders
		if b.Status != 0 || b.Target != nil && changes(b.Target.ResponseHeaders, name) {
			return nil, false
		}
		own, decided := decidedBy(mods.OrNone(), name)
		if !decided || i > 0 && !slices.Equal(own, values) {
			return nil, false
		}
		values = own
	}
	return values, true
}

// writtenByEnvoy reports whether Envoy itself may write a header of answers. The changes of the rule then do not
// decide alone which values the client gets.
func writtenByEnvoy(name string) bool {
	return slices.Contains([]string{"Server", "Date", "Content-Length", "Transfer-Encoding", "Connection"}, name) ||
		strings.HasPrefix(name, "X-Envoy-") || strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Grpc-")
}

// changes reports whether mods sets, adds or removes the header with this name. mods may be nil.
func changes(mods *ir.HeaderMods, name string) bool {
	all := mods.OrNone()
	is := func(other string) bool { return strings.EqualFold(other, name) }
	named := func(h ir.Header) bool { return is(h.Name) }
	return slices.ContainsFunc(all.Set, named) || slices.ContainsFunc(all.Add, named) || slices.ContainsFunc(all.Remove, is)
}

// decidedBy returns the values of a header after the rule's changes (mods). The result decided is false if the
// changes neither set nor remove the header, because the backend's values then remain. If decided is false, values
// has only what the changes add.
func decidedBy(mods ir.HeaderMods, name string) (values []string, decided bool) {
	for _, removed := range mods.Remove {
		decided = decided || strings.EqualFold(removed, name)
	}
	for _, h := range mods.Set {
		if strings.EqualFold(h.Name, name) {
			values, decided = []string{h.Value}, true
		}
	}
	for _, h := range mods.Add {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values, decided
}
