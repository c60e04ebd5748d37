package translate

import (
	"fmt"
	"maps"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// implicitClass exists without being declared (docs/design/inputs.md).
const implicitClass = "gatefold"

// classOut says whether Gateways of a class are ours.
type classOut struct {
	Ours bool
	// Controller is whose the class is, "" when it does not exist.
	Controller string
}

// portOut is one Envoy listener.
type portOut struct {
	Port     *ir.Port
	Resource xds.Resource
}

func resourceOf(p *portOut) *xds.Resource {
	if p == nil {
		return nil
	}
	return &p.Resource
}

func (n *network) declareListeners(e *memo.Engine) {
	n.class = memo.NewRule(e, "class", n.runClass, identical)
	n.declarePool(e)
	n.declareListenerSets(e)
	n.listeners = memo.NewRule(e, "listeners", n.runListeners, listen.Same)
	memo.Each(n.listeners, n.in.gateways)
	n.client = memo.NewRule(e, "client", n.runClient, identical)
	n.claims = memo.NewFold[listen.Socket, string, *listen.Claim](e, "claims", gather[string](listen.CompareClaims), memo.Ordered[*listen.Claim].Same)
	memo.From(n.claims, n.listeners, func(_ manifest.Key, g *listen.Gateway, yield func(memo.Place[listen.Socket, string], *listen.Claim)) {
		if g != nil {
			for at, claim := range g.Claims() {
				yield(memo.Place[listen.Socket, string]{Key: at, ID: claim.Name}, claim)
			}
		}
	}, deepEqual)
	n.holders = memo.NewRule(e, "holders", n.runHolders, maps.Equal[map[string]string])
	n.gateway = memo.NewRule(e, "gateway", n.runGateway, listen.Same)
	memo.Each(n.gateway, n.in.gateways)
	n.part = memo.NewRule(e, "part", n.runPart, deepEqual)
	n.owner = memo.NewRule(e, "owner", n.runOwner, identical[string])
	n.declareCoverage(e)
}

// declarePorts declares what needs the routes of streams as well.
func (n *network) declarePorts(e *memo.Engine) {
	n.listener = memo.NewRule(e, "listener", n.runListener, deepEqual)
	memo.EachOf(n.listener, n.gateway, func(_ manifest.Key, g *listen.Gateway) []portKey {
		var keys []portKey
		if g != nil {
			for _, port := range g.Ports() {
				keys = append(keys, portKey{g.Name, int32(port.Port), port.UDP})
			}
		}
		return keys
	})
	n.losses = memo.NewFold[manifest.Key, lossKey](e, "losses", gather[lossKey](compareLosses), memo.Ordered[*loss].Same)
	memo.From(n.losses, n.listener, lossesOf, deepEqual)
}

func (n *network) runClass(c *memo.Ctx, name string) classOut {
	object, ok := n.in.classes.Get(c, manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: name})
	if !ok {
		return classOut{Ours: name == implicitClass}
	}
	class, _ := manifest.As[*gwv1.GatewayClass](object)
	controller := class.Spec.ControllerName
	return classOut{Ours: controller == status.ControllerName, Controller: string(controller)}
}

// runListeners gives nil for a Gateway that is not ours.
func (n *network) runListeners(c *memo.Ctx, key manifest.Key) *listen.Gateway {
	object, ok := n.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	if !n.class.Get(c, string(gateway.Spec.GatewayClassName)).Ours {
		return nil
	}
	g := listen.Read(object, n.given(c, key), listen.References{
		Bound:       n.bound.Get(c, key.Namespace),
		Certificate: func(ref gwv1.SecretObjectReference) listen.Certificate { return n.certificate.Get(c, refer(key, ref)) },
		Authority:   func(ref gwv1.ObjectReference) listen.Authority { return n.authority.Get(c, referAuthority(key, ref)) },
	})
	sets, _ := n.joined.Get(c, g.Name)
	g.Join(slices.Collect(sets.All()))
	return g
}

func (n *network) runGateway(c *memo.Ctx, key manifest.Key) *listen.Gateway {
	g := n.listeners.Get(c, key)
	if g == nil {
		return nil
	}
	return g.WithHolders(func(at listen.Socket) string {
		return n.holders.Get(c, at)[g.Name]
	})
}

// runPart gives nil for an object of a Gateway that is not ours.
func (n *network) runPart(c *memo.Ctx, key partKey) *listen.Part {
	if g := n.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		return g.Part(key.Object)
	}
	return nil
}

// runOwner names the listener that serves a domain.
func (n *network) runOwner(c *memo.Ctx, key hostKey) string {
	if g := n.gateway.Get(c, ir.GatewayKey(key.Gateway)); g != nil {
		return g.OwnerName(listen.Socket{Port: key.Port, UDP: key.UDP}, key.Domain)
	}
	return ""
}

// runHolders judges the claims on a port once for all Gateways.
func (n *network) runHolders(c *memo.Ctx, at listen.Socket) map[string]string {
	claims, _ := n.claims.Get(c, at)
	return listen.Holders(slices.Collect(claims.All()))
}

func (n *network) runListener(c *memo.Ctx, key portKey) *portOut {
	g := n.gateway.Get(c, ir.GatewayKey(key.Gateway))
	for _, port := range g.Ports() {
		if port.Port == uint32(key.Port) && port.UDP == key.UDP {
			port.Exclusive = n.ExclusivePorts
			port.TrustedHops = n.TrustedHops
			if len(port.Streams) > 0 {
				claimants, _ := n.streams.Get(c, key)
				listen.Assign(port, claimants.All())
				dress(port, n.clientOf(c, key.Gateway))
			}
			return &portOut{Port: port, Resource: xds.Listener(port)}
		}
	}
	panic(fmt.Sprintf("translate: no port %v", key))
}

// classProblems says why a Gateway is nobody's.
func (n *network) classProblems(c *memo.Ctx, key manifest.Key) []manifest.Problem {
	object, ok := n.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	class := n.class.Get(c, string(gateway.Spec.GatewayClassName))
	problem := manifest.Problem{
		Severity: manifest.Warning, Object: key, Field: "spec.gatewayClassName",
		Hint: fmt.Sprintf("use gatewayClassName: %s, which needs no GatewayClass object", implicitClass),
	}
	switch {
	case class.Ours:
		return nil
	case class.Controller == "":
		problem.Code, problem.Severity = "GatewayClassNotFound", manifest.Error
		problem.Message = fmt.Sprintf("GatewayClass %s does not exist; the Gateway is not served", gateway.Spec.GatewayClassName)
		if like := n.nearClass(c, string(gateway.Spec.GatewayClassName)); like != "" {
			problem.Hint = fmt.Sprintf("did you mean %q? gatewayClassName: %s needs no GatewayClass object", like, implicitClass)
		}
	default:
		problem.Code = "ForeignGatewayClass"
		problem.Message = fmt.Sprintf("GatewayClass %s belongs to controller %s; the Gateway is not served",
			gateway.Spec.GatewayClassName, class.Controller)
	}
	return []manifest.Problem{problem}
}

// nearClass gives the GatewayClass that was likely meant, "" for none.
func (n *network) nearClass(c *memo.Ctx, name string) string {
	if like := n.near.Get(c, manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: name}); like != "" {
		return like
	}
	return nearName(name, []string{implicitClass})
}

// classVerdict refuses a class of ours that refers to parameters: no kind of them is
// known. Its Gateways serve on, as without them.
func classVerdict(object *manifest.Object) manifest.Verdict[gwv1.GatewayClassConditionReason] {
	class, ok := manifest.As[*gwv1.GatewayClass](object)
	if !ok || class.Spec.ControllerName != status.ControllerName || class.Spec.ParametersRef == nil {
		return manifest.Verdict[gwv1.GatewayClassConditionReason]{}
	}
	ref := class.Spec.ParametersRef
	return manifest.Verdict[gwv1.GatewayClassConditionReason]{
		Reason:  gwv1.GatewayClassReasonInvalidParameters,
		Message: fmt.Sprintf("parameters of kind %s of group %q are not supported", ref.Kind, ref.Group),
	}
}

func parameterProblems(object *manifest.Object) []manifest.Problem {
	bad := classVerdict(object)
	if bad.Good() {
		return nil
	}
	return []manifest.Problem{{
		Code: string(bad.Reason), Severity: manifest.Error, Object: object.Key, Field: "spec.parametersRef",
		Message: bad.Message, Hint: "remove it: gatefold takes no parameters; Gateways of the class are served as without it",
	}}
}
