package translate

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

// implicitClass is the GatewayClass that exists without an object (docs/design/inputs.md).
const implicitClass = "gatefold"

// classOut says whether gatefold serves the Gateways of a class.
type classOut struct {
	Ours bool
	// Controller is the controllerName of the class, "" if the class does not exist.
	Controller string
}

type classIn struct {
	near     *memo.Rule[manifest.Key, string]
	classes  *objects
	gateways *objects
	assumed  bool // Assumptions.Classes
}

// classRules find the Gateways that gatefold serves.
type classRules struct {
	in    classIn
	class *memo.Rule[string, classOut]
	// The rule classless has the problem of a Gateway that gatefold does not serve because of its class.
	classless *memo.Rule[manifest.Key, []manifest.Problem]
}

func newClassRules(e *memo.Engine, in classIn) *classRules {
	r := &classRules{in: in}
	r.class = memo.NewRule(e, "class", r.runClass, identical)
	r.classless = memo.NewRule(e, "classless", r.classProblems, deepEqual)
	memo.Each(r.classless, in.gateways)
	return r
}

func (r *classRules) report(all *problemFold) {
	problemsFrom(all, "class", r.classless, func(list []manifest.Problem) []manifest.Problem { return list })
	problemsFrom(all, "parameters", memo.Keyed[manifest.Key, *manifest.Object](r.in.classes), parameterProblems)
}

// runClass returns whether a GatewayClass belongs to gatefold. A class that does not exist belongs to gatefold
// only if its name is implicitClass.
func (r *classRules) runClass(c *memo.Ctx, name string) classOut {
	if r.in.assumed {
		return classOut{Ours: true}
	}
	object, ok := r.in.classes.Get(c, manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: name})
	if !ok {
		return classOut{Ours: name == implicitClass}
	}
	class, _ := manifest.As[*gwv1.GatewayClass](object)
	controller := class.Spec.ControllerName
	return classOut{Ours: controller == status.ControllerName, Controller: string(controller)}
}

// classProblems returns the problem of a Gateway whose GatewayClass does not exist or belongs to another
// controller. It returns nil for a Gateway that gatefold serves.
func (r *classRules) classProblems(c *memo.Ctx, key manifest.Key) []manifest.Problem {
	object, ok := r.in.gateways.Get(c, key)
	if !ok {
		return nil
	}
	gateway, _ := manifest.As[*gwv1.Gateway](object)
	class := r.class.Get(c, string(gateway.Spec.GatewayClassName))
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
		if like := r.nearClass(c, string(gateway.Spec.GatewayClassName)); like != "" {
			problem.Hint = fmt.Sprintf("did you mean %q? gatewayClassName: %s needs no GatewayClass object", like, implicitClass)
		}
	default:
		problem.Code = "ForeignGatewayClass"
		problem.Message = fmt.Sprintf("GatewayClass %s belongs to controller %s; the Gateway is not served",
			gateway.Spec.GatewayClassName, class.Controller)
	}
	return []manifest.Problem{problem}
}

// nearClass returns the name of a GatewayClass that is similar to the given name. If there is none, it returns "".
func (r *classRules) nearClass(c *memo.Ctx, name string) string {
	if like := r.in.near.Get(c, manifest.Key{Group: gwv1.GroupName, Kind: "GatewayClass", Name: name}); like != "" {
		return like
	}
	return nearName(name, []string{implicitClass})
}

// classVerdict returns the verdict for a GatewayClass. It rejects a class of gatefold with parameters of an unknown kind
// (listen.IgnoresParameters). The Gateways of the class are still served, without the parameters.
func classVerdict(object *manifest.Object) manifest.Verdict[gwv1.GatewayClassConditionReason] {
	class, ok := manifest.As[*gwv1.GatewayClass](object)
	if !ok || class.Spec.ControllerName != status.ControllerName || class.Spec.ParametersRef == nil {
		return manifest.Verdict[gwv1.GatewayClassConditionReason]{}
	}
	ref := class.Spec.ParametersRef
	if listen.IgnoresParameters(ref.Group, ref.Kind) {
		return manifest.Verdict[gwv1.GatewayClassConditionReason]{}
	}
	return manifest.Verdict[gwv1.GatewayClassConditionReason]{
		Reason:  gwv1.GatewayClassReasonInvalidParameters,
		Message: fmt.Sprintf("parameters of kind %s of group %q are not supported", ref.Kind, ref.Group),
	}
}

// parameterProblems returns the error for a GatewayClass that classVerdict rejects, nil for other classes.
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
