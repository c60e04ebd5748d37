package listen

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// InvalidGateway returns the Gateway for an object that is invalid by its schema. None of its listeners is
// served.
func InvalidGateway(from *store.Invalid) *Gateway {
	return &Gateway{
		Origin: &ir.Origin{Key: from.Key}, Name: from.Key.Namespace + "/" + from.Key.Name, Generation: from.Generation,
		Listeners: InvalidListeners(from),
		Unusable:  manifest.Because(gwv1.GatewayReasonInvalid, from.Message()),
	}
}

// InvalidSet returns the Set for a ListenerSet that is invalid by its schema. It is not accepted.
func InvalidSet(from *store.Invalid) *Set {
	return &Set{
		Origin: &ir.Origin{Key: from.Key}, Generation: from.Generation, Listeners: InvalidListeners(from),
		Accepted: manifest.Because(gwv1.ListenerSetReasonInvalid, from.Message()),
	}
}

// InvalidListeners returns the listeners of an invalid object. None is accepted. The message of a listener is
// its own mistake, or the error of the object.
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
