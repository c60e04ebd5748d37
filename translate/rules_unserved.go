package translate

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/memo"
)

// unservedKind is a kind that is read and checked, and that no rule serves yet.
type unservedKind struct {
	name         string
	effect, hint string // what it means for traffic, and what to do meanwhile
}

// unservedKinds is the table of them: all of the Gateway API's group. A kind
// that becomes served leaves it.
func unservedKinds() []unservedKind {
	streams := unservedKind{effect: "nothing listens for the connections it describes", hint: "an HTTPRoute serves HTTP; nothing serves other protocols yet"}
	named := func(name string) unservedKind { return unservedKind{name, streams.effect, streams.hint} }
	return []unservedKind{
		named("TLSRoute"), named("TCPRoute"), named("UDPRoute"),
	}
}

// declareUnserved makes one problem of each object of those kinds, so that
// nobody takes silence for service.
func (n *network) declareUnserved() {
	for _, kind := range unservedKinds() {
		problemsFrom(n.problems, "unserved", memo.Keyed[store.Key, *store.Object](n.in.byKind[[2]string{gwv1.GroupName, kind.name}]),
			func(o *store.Object) []store.Problem { return []store.Problem{kind.problem(o.Key)} })
	}
}

func (k unservedKind) problem(key store.Key) store.Problem {
	return store.Problem{
		Code: "NotServed", Severity: store.Warning, Object: key, Field: "kind",
		Message: k.name + " is checked and not served yet; " + k.effect, Hint: k.hint,
	}
}
