package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
)

// meetingWords are the words of the problem for one result of a listen.Meeting: its code, message and hint. In the
// message, %[1]s is the listener, and %[2]s are the hosts with the other routes.
type meetingWords struct{ code, message, hint string }

// wordsOf returns the words of the problem for a result.
func wordsOf(result listen.MeetingResult) meetingWords {
	const oneKind = "only one kind of route, HTTPRoute or GRPCRoute, can have a host: "
	switch result {
	case listen.Lost:
		return meetingWords{
			codeShadowed, "on %[1]s this route gets no request for %[2]s; it serves its other hosts",
			oneKind + "remove the hostname from one of the two routes",
		}
	case listen.Won:
		return meetingWords{codeContested, "on %[1]s this route has %[2]s", oneKind + "decide which route has it, and remove it from the other"}
	case listen.Narrower:
		return meetingWords{codeContested, "on %[1]s this route has %[2]s", "decide which namespace has the host"}
	}
	return meetingWords{
		codeContested, "on %[1]s this route asks for hosts by a wildcard or without hostnames, and gets no request for %[2]s",
		"decide which namespace has the host; to serve it here, write it into spec.hostnames",
	}
}

// describeMeeting returns the host of a Meeting with the other route, as text.
func describeMeeting(m listen.Meeting) string {
	host := quoted(m.Domain)
	switch m.Result {
	case listen.Lost:
		return fmt.Sprintf("%s (%s has it, because %s)", host, m.Other, m.Why)
	case listen.Won:
		return fmt.Sprintf("%s, and %s, which asks for it as well, gets no request: %s", host, m.Other, m.Why)
	case listen.Narrower:
		return fmt.Sprintf("%s, of which %s, which asks for it by a wildcard or without hostnames, gets no request", host, m.Other)
	}
	return fmt.Sprintf("%s (%s has it)", host, m.Other)
}

// meetingProblems returns the warnings of a route that met routes of the other kind: Shadowed for hosts that it lost,
// and Contested for hosts that it has, or asks for by a wildcard. There is one warning for each listener and result.
// The parameter rejected has the listeners of parentRefs that are rejected, which have an error for the lost hosts.
func meetingProblems(key manifest.Key, met map[listenerKey][]listen.Meeting, rejected map[listenerKey]bool) (problems []manifest.Problem) {
	for _, at := range slices.SortedFunc(maps.Keys(met), compareListeners) {
		for result := listen.Lost; result <= listen.Wider; result++ {
			var hosts []string
			for _, m := range met[at] {
				if m.Result == result {
					hosts = append(hosts, describeMeeting(m))
				}
			}
			if len(hosts) == 0 || rejected[at] && result == listen.Lost {
				continue
			}
			words, where := wordsOf(result), fmt.Sprintf("listener %s of Gateway %s", at.Listener, at.Gateway)
			problems = append(problems, manifest.Problem{
				Code: words.code, Severity: manifest.Warning, Object: key, Field: "spec.hostnames",
				Message: fmt.Sprintf(words.message, where, few(hosts)), Hint: words.hint,
			})
		}
	}
	return problems
}

func compareListeners(a, b listenerKey) int {
	return cmp.Or(cmp.Compare(a.Gateway, b.Gateway), cmp.Compare(a.Listener, b.Listener))
}

// quoted returns a domain for messages: in quotes, or "every host" for "*".
func quoted(domain string) string {
	if domain == "*" {
		return "every host"
	}
	return fmt.Sprintf("%q", domain)
}

// maxNamed is how many hosts a message about routes of two kinds names. For more, it ends with "and others".
const maxNamed = 4

// few joins words with commas, at most maxNamed.
func few(words []string) string {
	if len(words) > maxNamed {
		words = append(slices.Clone(words[:maxNamed]), "and others")
	}
	return strings.Join(words, ", ")
}
