package listen

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// InvalidGateway is a Gateway that its schema refuses: nothing of it can be served.
func InvalidGateway(from *store.Invalid) *Gateway {
	return &Gateway{
		Origin: &ir.Origin{Key: from.Key}, Name: from.Key.Namespace + "/" + from.Key.Name, Generation: from.Generation,
		Listeners: InvalidListeners(from),
		Unusable:  manifest.Because(gwv1.GatewayReasonInvalid, from.Message()),
	}
}

// InvalidSet is a ListenerSet that its schema refuses.
func InvalidSet(from *store.Invalid) *Set {
	return &Set{
		Origin: &ir.Origin{Key: from.Key}, Generation: from.Generation, Listeners: InvalidListeners(from),
		Refused: manifest.Because(gwv1.ListenerSetReasonInvalid, from.Message()),
	}
}

// InvalidListeners are the listeners of an object that its schema refuses. None is
// accepted: those at fault for what they say, the others for their object.
func InvalidListeners(from *store.Invalid) []*Listener {
	var out []*Listener
	for _, l := range from.Listeners {
		bad := manifest.Because(gwv1.ListenerReasonInvalid, "the "+from.Key.Kind+" is not valid: "+from.Message())
		if l.Mistake != (store.Mistake{}) {
			bad = manifest.Because(gwv1.ListenerReasonUnsupportedValue, l.Mistake.String())
		}
		out = append(out, &Listener{Owner: from.Key, Name: l.Name, Accepted: bad})
	}
	return out
}
