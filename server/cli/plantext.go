package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/plan"
)

const (
	// maxPlanned is how many entries of each list plan shows at most, as text and as Markdown. JSON has all, and
	// Markdown has further changes of requests in a short form (see markdownPage.kinds).
	maxPlanned = 40
	// maxRegions is how many kinds of requests (plan.Region) of one change plan shows at most, as text and in the
	// tables of Markdown. It also limits lists of objects, places and listeners.
	maxRegions = 5
)

// planPage writes the report of plan as text.
type planPage struct {
	explainPage
	command func(plan.Change) string // returns the arguments of gatefold explain for the example request of a change
}

// planText returns the report of plan as text.
func planText(r *planned, color bool) []byte {
	t := &planPage{explainPage: explainPage{color: color}, command: r.command}
	fmt.Fprintln(&t.out, t.paint(bold, "plan: "+r.Summary))
	t.judged(r)
	t.changes("These requests get another answer:", r.Requests)
	t.changes("These requests are handled otherwise, and the example gets the same answer:", r.Handling)
	section(t, "These rules changed, and no example was found:", r.Undecided, func(one plan.Region) {
		fmt.Fprintf(&t.out, "  %s\n", undecidedWords(one))
	})
	section(t, "These issuers were not asked, and what their rules answer is not known (only gatefold serve asks them):", r.Unasked, func(issuer string) {
		fmt.Fprintf(&t.out, "  %s\n", issuer)
	})
	section(t, "Policies:", r.Policies, func(p plan.PolicyChange) { fmt.Fprintf(&t.out, "  %s\n", policyChangeWords(p)) })
	section(t, "Problems introduced:", otherProblems(r), func(p manifest.Problem) { fmt.Fprintf(&t.out, "  %s\n", p.Text(color)) })
	section(t, "Problems fixed:", r.Fixed, func(p manifest.Problem) { fmt.Fprintf(&t.out, "  %s\n", p.Text(color)) })
	section(t, "Listeners:", r.Listeners, func(l plan.ListenerChange) { fmt.Fprintf(&t.out, "  %s\n", listenerChangeWords(l)) })
	section(t, "Certificates:", r.Certificates, func(c plan.CertificateChange) { fmt.Fprintf(&t.out, "  %s\n", certificateChangeWords(c)) })
	section(t, "Objects:", r.Objects, func(o plan.ObjectChange) {
		place := ""
		if o.At != nil {
			place = "   " + t.paint(faint, position(*o.At))
		}
		fmt.Fprintf(&t.out, "  %s %s%s\n", o.Kind, o.Object, place)
	})
	section(t, "Envoy resources:", r.Resources, func(one plan.ResourceChange) { fmt.Fprintf(&t.out, "  %s\n", resourceWords(one)) })
	return t.out.Bytes()
}

// section writes a heading, the first maxPlanned entries of a list, and the number of further entries. The
// function line writes an entry. section writes nothing if the list is empty.
func section[T any](t *planPage, heading string, list []T, line func(T)) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(&t.out, "\n%s\n", t.paint(bold, heading))
	for _, one := range list[:min(len(list), maxPlanned)] {
		line(one)
	}
	if more := len(list) - maxPlanned; more > 0 {
		fmt.Fprintf(&t.out, "  and %d more (-o json lists all)\n", more)
	}
}

// changes writes a heading and a list of changes (see section), with at most maxRegions kinds of requests for
// each change.
func (t *planPage) changes(heading string, list []plan.Change) {
	section(t, heading, list, func(c plan.Change) {
		fmt.Fprintf(&t.out, "\n  %s\n", t.paint(bold, t.command(c)))
		fmt.Fprintf(&t.out, "    %s\n", effectWords(c))
		if before, after := c.Before.Words(), c.After.Words(); before != after {
			fmt.Fprintf(&t.out, "    before  %s\n    after   %s\n", before, t.paint(bold, after))
		} else {
			fmt.Fprintf(&t.out, "    answer  %s\n", after)
			for _, line := range receivesWords(c) {
				fmt.Fprintf(&t.out, "            %s\n", line)
			}
		}
		if held := heldWords(c); held != "" {
			fmt.Fprintf(&t.out, "    held    %s\n", held)
		}
		for _, reason := range c.Reasons {
			fmt.Fprintf(&t.out, "    because %s%s\n", reason.Text, t.paint(faint, placesWords(reason.At)))
		}
		for i, region := range c.Regions {
			if i == maxRegions {
				fmt.Fprintf(&t.out, "    and %d more kinds of requests\n", len(c.Regions)-maxRegions)
				break
			}
			fmt.Fprintf(&t.out, "    for     %s\n", regionWords(region))
		}
	})
}

// effectWords returns the effect of a change in a few words.
func effectWords(c plan.Change) string {
	lost := ""
	if len(c.Lost) > 0 {
		var fields []string
		for _, field := range c.Lost {
			fields = append(fields, string(field))
		}
		lost = "loses " + strings.Join(fields, ", ")
	}
	switch c.Effect {
	case plan.Opens:
		return strings.TrimSuffix("OPEN: "+lost, ": ")
	case plan.LosesPolicy:
		return "POLICY LOST: " + lost
	case plan.Fails:
		return "FAILS"
	case plan.AsksLogin:
		return "ASKS FOR A LOGIN"
	case plan.OtherRule:
		return "taken by " + c.Regions[0].After.Words()
	case plan.OtherBackends:
		return "other backends"
	case plan.OtherShares:
		return "other shares"
	}
	return "differs"
}

// heldWords returns what a running gatefold does in place of a change that errors in objects bring. It returns "" for any
// other change.
func heldWords(c plan.Change) string {
	if len(c.Held) == 0 {
		return ""
	}
	var names []string
	for _, key := range c.Held {
		names = append(names, key.String())
	}
	return fmt.Sprintf("a running gatefold keeps the last valid version of %s, and the answer before, until the error is fixed", strings.Join(names, ", "))
}

// exampleWords returns an example request as arguments of explain, for use in a shell.
func exampleWords(e plan.Example) string {
	text := strings.TrimSpace(shellWord(e.Method) + " " + shellWord(e.URL))
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		for _, value := range e.Headers[name] {
			text += " -H " + shellWord(strings.ToLower(name)+": "+value)
		}
	}
	if e.From != "" {
		text += " --from " + e.From
	}
	return text
}

// shellWord returns a text as one word for a shell. The author of the folder chooses the text, so no part of it
// may be run as a command. For "" it returns "".
func shellWord(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// regionWords returns a text for a set of requests (plan.Region): their host, scheme, port, Gateway and match. If
// plan found no example of these requests, the text also has the reason for that (r.Why).
func regionWords(r plan.Region) string {
	words := fmt.Sprintf("%s port %d of Gateway %s: %s", r.Scheme, r.Port, r.Gateway, r.Match)
	switch {
	case r.Host == "*" && r.Match == plan.WholePort:
		words = "every host on " + words
	case r.Host == "*" && (r.Scheme == "tcp" || r.Scheme == "udp"): // TCP and UDP have no host
	case r.Host == "*":
		words = "every other host on " + words
	default:
		words = r.Host + " on " + words
	}
	if r.Why != "" {
		words += " (" + r.Why + ")"
	}
	return words
}

// undecidedWords returns a text for requests whose rule may change, but for which plan found no example. The
// text begins with the rule that may match these requests after the change. If there is none, it begins with the
// rule before the change, and without either it only describes the requests.
func undecidedWords(r plan.Region) string {
	rule := r.After
	if rule == nil {
		rule = r.Before
	}
	if rule == nil {
		return regionWords(r)
	}
	return rule.Words() + ": " + regionWords(r)
}

// receivesWords returns a line for each difference between the requests that backends receive before and after a
// change. It compares the path, host, headers and endpoints of backends with the same index. A backend is
// skipped if its request is not known on one side.
func receivesWords(c plan.Change) (lines []string) {
	for i, after := range c.After.Backends {
		if i >= len(c.Before.Backends) || after.Receives == nil || c.Before.Backends[i].Receives == nil {
			continue
		}
		before := c.Before.Backends[i]
		say := func(what, x, y string) {
			if x != y {
				lines = append(lines, fmt.Sprintf("%s receives %s %s; before: %s", after.Cluster, what, orNothing(y), orNothing(x)))
			}
		}
		say("path", before.Receives.Path, after.Receives.Path)
		say("host", before.Receives.Host, after.Receives.Host)
		names := maps.Clone(before.Receives.Headers)
		if names == nil {
			names = map[string][]string{}
		}
		maps.Copy(names, after.Receives.Headers)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			say("header "+strings.ToLower(name), strings.Join(before.Receives.Headers[name], ", "), strings.Join(after.Receives.Headers[name], ", "))
		}
		if !slices.Equal(before.Endpoints, after.Endpoints) {
			say("requests at", strings.Join(before.Endpoints, ", "), strings.Join(after.Endpoints, ", "))
		}
	}
	return lines
}

// orNothing returns a text, or "nothing" for "".
func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// placesWords returns a list of at most maxRegions places in brackets, such as " (shop.yaml:3:5)". It returns
// "" if no place is known.
func placesWords(places []plan.Place) string {
	var words []string
	for _, at := range places {
		if at.File == "" {
			continue
		}
		word := position(store.Place{File: at.File, Line: at.Line, Column: at.Column})
		if at.Before {
			word += " before"
		}
		if !slices.Contains(words, word) && len(words) < maxRegions {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// policyChangeWords returns a line of text about the change of a policy field.
func policyChangeWords(p plan.PolicyChange) string {
	does := p.After
	if p.Kind == plan.Removed {
		does = p.Before
	}
	if p.Kind == plan.Closed {
		return fmt.Sprintf("%s (%s) closes %s of %s with %s: %s", p.Field, keysWords(p.Policies), count(p.Rules, "rule"), keysWords(p.Routes), closedWords(p.Routes), does)
	}
	verb := map[plan.Kind]string{plan.Added: "gained", plan.Removed: "lost", plan.Changed: "changed"}[p.Kind]
	return fmt.Sprintf("%s %s (%s) by %s of %s: %s", p.Field, verb, keysWords(p.Policies), count(p.Rules, "rule"), keysWords(p.Routes), does)
}

// closedWords returns what the rules of these routes answer when they fail closed, which means that a rule
// answers an error because its configuration cannot be used: 500 for HTTPRoutes, UNAVAILABLE for GRPCRoutes, and
// both if the list has both kinds.
func closedWords(routes []manifest.Key) string {
	rpc := func(key manifest.Key) bool { return key.Kind == "GRPCRoute" }
	switch {
	case !slices.ContainsFunc(routes, rpc):
		return "500"
	case slices.ContainsFunc(routes, func(key manifest.Key) bool { return !rpc(key) }):
		return "500 or UNAVAILABLE"
	}
	return "UNAVAILABLE"
}

// keysWords returns the first maxRegions keys in a list, and the number of further keys.
func keysWords(keys []manifest.Key) string {
	var words []string
	for i, key := range keys {
		if i == maxRegions {
			words = append(words, fmt.Sprintf("%d more", len(keys)-maxRegions))
			break
		}
		words = append(words, key.String())
	}
	return strings.Join(words, ", ")
}

// listenerChangeWords returns a line of text about the change of a listener.
func listenerChangeWords(l plan.ListenerChange) string {
	text := fmt.Sprintf("%s %s port %d of Gateway %s", l.Kind, l.Scheme, l.Port, l.Gateway)
	if l.What != "" {
		text += ": " + l.What
	}
	if l.Drains {
		names := strings.Join(l.Draining[:min(len(l.Draining), maxRegions)], ", ")
		if more := len(l.Draining) - maxRegions; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text += "; the open connections of listener " + names + " are drained"
	}
	return text
}

// certificateChangeWords returns a line of text about the change of a certificate.
func certificateChangeWords(c plan.CertificateChange) string {
	text := fmt.Sprintf("%s %s for %s, until %s", c.Kind, c.Object, strings.Join(c.Names, ", "), c.NotAfter)
	switch c.Kind {
	case plan.Changed:
		return text + fmt.Sprintf(": SHA-256 %s…; before: %s…", c.After, c.Before)
	case plan.Removed:
		return text + ": SHA-256 " + c.Before + "…"
	}
	return text + ": SHA-256 " + c.After + "…"
}

// resourceWords returns a text with the numbers of added, removed and changed resources of one type.
func resourceWords(one plan.ResourceChange) string {
	var words []string
	for _, n := range []struct {
		n    int
		what plan.Kind
	}{{one.Added, plan.Added}, {one.Removed, plan.Removed}, {one.Changed, plan.Changed}} {
		if n.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	return one.Type + ": " + strings.Join(words, ", ")
}
