package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/api"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/memo"
)

type referenceIn struct {
	*hintRules
	*backendObjects
	grants  *memo.Rule[string, *backend.Grants]
	invalid *memo.Input[manifest.Key, *store.Invalid]
}

// referenceRules follow references to backends.
type referenceRules struct {
	in      referenceIn
	backend *memo.Rule[backend.Reference, backend.Resolution]
}

func newReferenceRules(e *memo.Engine, in referenceIn) *referenceRules {
	r := &referenceRules{in: in}
	r.backend = memo.NewRule(e, "backend", r.runBackend, deepEqual)
	return r
}

// runBackend resolves one reference to a backend. It checks the kind, the ReferenceGrant, whether the object
// exists, and the port.
func (r *referenceRules) runBackend(c *memo.Ctx, ref backend.Reference) backend.Resolution {
	if !ref.Known() {
		return ref.UnknownKind()
	}
	if ref.To.Namespace != ref.From.Namespace && !r.in.grants.Get(c, ref.To.Namespace).Permit(ref) {
		return ref.NotGranted()
	}
	if ref.IsBackend() {
		if object, ok := r.in.staticBackends.Get(c, ref.To); ok {
			b, _ := manifest.As[*api.Backend](object)
			return ref.ToBackend().Named(b)
		}
		absent := r.in.absent(c, ref.To, wordReference)
		return ref.Missing(!absent.Invalid && r.in.service(c, ref.Twin()) != nil, absent.Message, absent.Hint)
	}
	if object, ok := r.in.services.Get(c, ref.To); ok {
		if plugin := pluginFor(c, r.in.invalid, object); plugin != nil {
			return ref.ClosedBy(plugin.Key)
		}
		return ref.ToService(r.in.service(c, ref.To))
	}
	absent := r.in.absent(c, ref.To, wordReference)
	_, twin := r.in.staticBackends.Get(c, ref.Twin())
	return ref.Missing(!absent.Invalid && twin, absent.Message, absent.Hint)
}
