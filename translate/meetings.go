package translate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
)

// meetings are those of one route, by listener.
type meetings map[listenerKey][]listen.Meeting

// addMeetings is the step of the fold contestRules.met.
func addMeetings(of meetings, members []memo.Member[listenerKey, []listen.Meeting]) meetings {
	out := maps.Clone(of)
	if out == nil {
		out = meetings{}
	}
	for _, m := range members {
		if m.Has {
			out[m.ID] = m.New
		} else {
			delete(out, m.ID)
		}
	}
	return out
}

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
		return meetingWords{
			codeContested, "on %[1]s this route has hosts that other routes ask for as well, which get no request for them: %[2]s",
			oneKind + "decide which route has it, and remove it from the other",
		}
	case listen.Narrower:
		return meetingWords{
			codeContested, "on %[1]s this route has hosts that other routes ask for by a wildcard or without hostnames: %[2]s",
			"decide which namespace has the host",
		}
	}
	return meetingWords{
		codeContested, "on %[1]s this route asks for hosts by a wildcard or without hostnames, and gets no request for %[2]s",
		"decide which namespace has the host; to ask for it here, write it into spec.hostnames",
	}
}

// describeMeeting returns the host of a Meeting with the other route, as text.
func describeMeeting(m listen.Meeting) string {
	host := quoted(m.Domain)
	switch m.Result {
	case listen.Lost:
		return fmt.Sprintf("%s (%s has it: %s)", host, m.Other, m.Why)
	case listen.Won:
		return fmt.Sprintf("%s (%s; this route comes first: %s)", host, m.Other, m.Why)
	case listen.Wider:
		return fmt.Sprintf("%s (%s has it)", host, m.Other)
	}
	return fmt.Sprintf("%s (%s)", host, m.Other)
}

// meetingProblems returns the warnings of a route that met routes of the other kind: Shadowed for hosts that it lost,
// and Contested for hosts that it has, or asks for by a wildcard. There is one warning for each result. It names the
// first listener, and how many others there are. The parameter rejected has the listeners of parentRefs that are
// rejected, which have an error for the lost hosts.
func meetingProblems(key manifest.Key, met meetings, rejected map[listenerKey]bool) (problems []manifest.Problem) {
	listeners := slices.SortedFunc(maps.Keys(met), compareListeners)
	for result := listen.Lost; result <= listen.Wider; result++ {
		var hosts []string
		var at []listenerKey
		for _, listener := range listeners {
			if rejected[listener] && result == listen.Lost {
				continue
			}
			for _, m := range met[listener] {
				if m.Result == result {
					at = appendNew(at, listener)
					hosts = appendNew(hosts, describeMeeting(m))
				}
			}
		}
		if len(hosts) == 0 {
			continue
		}
		words, where := wordsOf(result), fmt.Sprintf("listener %s of Gateway %s", at[0].Listener, at[0].Gateway)
		if more := len(at) - 1; more > 0 {
			where += fmt.Sprintf(" (and %d more)", more)
		}
		problems = append(problems, manifest.Problem{
			Code: words.code, Severity: manifest.Warning, Object: key, Field: "spec.hostnames",
			Message: fmt.Sprintf(words.message, where, few(hosts)), Hint: words.hint,
		})
	}
	return problems
}

// appendNew appends a value that is not in the list yet.
func appendNew[T comparable](list []T, value T) []T {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
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

// few joins words, at most maxNamed.
func few(words []string) string {
	if len(words) > maxNamed {
		words = append(slices.Clone(words[:maxNamed]), "and others")
	}
	return strings.Join(words, "; ")
}
