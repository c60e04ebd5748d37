package translate

import (
	"fmt"
	"hash/maphash"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/backend"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/route"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Keys of rules and folds.
type (
	portKey struct {
		Gateway string // "namespace/name"
		Port    int32
		UDP     bool
	}
	// chainKey is a filter chain; it has a RouteConfiguration. Chain is ir.Chain.Name.
	chainKey struct {
		portKey
		Chain string
	}
	tableKey struct {
		chainKey
		Domain string
	}
	flatKey struct {
		Route manifest.Key
		Port  int32 // 0 when the route is attached to no port
		// Via is the chain of parents, root first: "infra/root>team/mid"; "" for a
		// root. A child of two parents is two nodes.
		Via string
	}
	// hostKey is a domain of a port, whatever its chain.
	hostKey struct {
		portKey
		Domain string
	}
	// partKey is an object with listeners, of a Gateway: itself or a ListenerSet.
	partKey struct {
		Gateway string
		Object  manifest.Key
	}
	useKey struct {
		Gateway string
		Backend backend.Key
	}
	listenerKey struct {
		Gateway, Listener string
	}
)

func (k portKey) String() string {
	return fmt.Sprintf("%s:%s", k.Gateway, listen.Socket{Port: k.Port, UDP: k.UDP})
}

// name is the name of the chain's RouteConfiguration.
func (k chainKey) name() string { return listen.RoutesName(k.Gateway, k.Port, k.Chain) }

func (k chainKey) String() string {
	if k.Chain == "" {
		return k.portKey.String()
	}
	return k.portKey.String() + "/" + k.Chain
}

func (k hostKey) String() string { return k.portKey.String() + " " + k.Domain }

func (k partKey) String() string { return fmt.Sprintf("%s of %s", k.Object, k.Gateway) }

func (k tableKey) String() string { return k.chainKey.String() + " " + k.Domain }

func (k flatKey) String() string {
	if k.Via == "" {
		return fmt.Sprintf("%s :%d", k.Route, k.Port)
	}
	return fmt.Sprintf("%s :%d below %s", k.Route, k.Port, k.Via)
}

func (k useKey) String() string { return k.Gateway + " " + k.Backend.Cluster() }

// network holds the rules and folds; doc.go has their map.
type network struct {
	Options
	in *inputs

	*hintRules
	*certificateRules
	*namespaceRules
	*classRules
	*gatewayRules
	*coverageRules
	*referenceRules
	*backendPolicyRules
	*tlsPolicyRules

	secretUses  *memo.Fold[secretUse, string, struct{}, int]
	secret      *memo.Rule[manifest.Key, *secretOut]
	pushSecret  *memo.Rule[secretUse, *secretOut]
	policy      *memo.Rule[manifest.Key, *policyOut]
	aims        aiming // of TrafficPolicies
	policed     *memo.Rule[string, bool]
	policies    *memo.Rule[ruleKey, *levelOut]
	lost        *memo.Rule[manifest.Key, []targetOut]
	fates       *memo.Fold[manifest.Key, string, gatewayFate, memo.Ordered[gatewayFate]]
	attach      *memo.Rule[manifest.Key, *attachOut]
	contest     *memo.Rule[listenerKey, map[manifest.Key]listen.Loss]
	admitted    *memo.Rule[manifest.Key, *attachOut]
	won         *memo.Fold[manifest.Key, winKey, *win, memo.Ordered[*win]]
	overload    *memo.Rule[struct{}, map[manifest.Key]overload]
	flat        *memo.Rule[flatKey, *flatOut]
	mount       *memo.Rule[manifest.Key, *mountOut]
	offered     *memo.Fold[route.Property, manifest.Key, route.Breadth, route.Breadth]
	routes      *memo.Fold[struct{}, manifest.Key, struct{}, int]
	offers      *memo.Fold[offerKey, manifest.Key, route.Breadth, route.Breadth]
	spaces      *memo.Fold[route.Property, string, offer, memo.Ordered[offer]]
	fanout      *memo.Rule[flatKey, *fanoutOut]
	depths      *memo.Fold[levelKey, flatKey, int, int]
	demand      *memo.Rule[branchKey, *demandOut]
	crowd       *memo.Fold[tableKey, branchKey, *demandOut, crowd]
	cut         *memo.Rule[tableKey, map[branchKey]budgetOut]
	budget      *memo.Rule[branchKey, budgetOut]
	wants       *memo.Rule[flatKey, []route.Property]
	points      *memo.Rule[flatKey, *pointsOut]
	link        *memo.Rule[linkKey, *linkOut]
	live        *memo.Fold[pointKey, flatKey, struct{}, int]
	refused     *memo.Fold[flatKey, refusalKey, *refusal, memo.Ordered[*refusal]]
	graft       *memo.Rule[flatKey, *graftOut]
	binding     *memo.Rule[linkKey, *bindingOut]
	children    *memo.Rule[manifest.Key, *childrenOut]
	bindings    *memo.Fold[manifest.Key, linkKey, *bindingOf, memo.Ordered[*bindingOf]]
	table       *memo.Fold[tableKey, string, *entry, table]
	claimed     *memo.Fold[tableKey, string, struct{}, int]
	host        *memo.Rule[tableKey, *hostOut]
	groupTwins  func([]*entry) [][]*entry // in the order of a table
	twins       *memo.Rule[tableKey, []twin]
	shadowed    *memo.Fold[manifest.Key, shadowKey, *shadow, memo.Ordered[*shadow]]
	hostPolicy  *memo.Rule[listenerKey, *hostPolicy]
	hostDemand  *memo.Rule[listenerKey, *hostDemand]
	hosts       *memo.Fold[chainKey, string, *hostOut, memo.Ordered[*hostOut]]
	misdirected *memo.Rule[chainKey, []xds.Host]
	routeConfig *memo.Rule[chainKey, routesOut]
	stream      *memo.Rule[manifest.Key, *streamOut]
	streams     *memo.Fold[portKey, manifest.Key, *listen.Claimant, memo.Ordered[*listen.Claimant]]
	listener    *memo.Rule[portKey, *portOut]
	losses      *memo.Fold[manifest.Key, lossKey, *loss, memo.Ordered[*loss]]
	uses        *memo.Fold[useKey, flatKey, struct{}, struct{}]
	cluster     *memo.Rule[backend.Key, *clusterOut]
	push        *memo.Rule[useKey, *clusterOut]
	attached    *memo.Fold[listenerKey, manifest.Key, struct{}, int]

	users           *memo.Fold[manifest.Key, useKey, useKey, memo.Ordered[useKey]]
	tlsPolicyStatus *memo.Rule[manifest.Key, *status.Update]
	trust           *memo.Rule[string, *trustOut]
	pushTrust       *memo.Rule[trustUse, *trustOut]

	classStatus   *memo.Rule[manifest.Key, *status.Update]
	gatewayStatus *memo.Rule[manifest.Key, *status.Update]
	sound         *memo.Rule[int64, []metav1.Condition]
	routeStatus   *memo.Rule[manifest.Key, *status.Update]
	policyStatus  *memo.Rule[manifest.Key, *status.Update]

	listenerSetStatus *memo.Rule[manifest.Key, *status.Update]
	invalidStatus     *memo.Rule[manifest.Key, *status.Update]

	problems *memo.Fold[struct{}, string, []manifest.Problem, memo.Ordered[problemSet]]
	allHosts *memo.Fold[struct{}, tableKey, *hostOut, memo.Ordered[*hostOut]]
	allUsed  *memo.Fold[struct{}, backend.Key, *clusterOut, memo.Ordered[*clusterOut]]
	allPorts *memo.Fold[struct{}, portKey, *portOut, memo.Ordered[*portOut]]

	allPolicies *memo.Fold[struct{}, manifest.Key, *ir.Policy, memo.Ordered[*ir.Policy]]

	allSecrets *memo.Fold[struct{}, manifest.Key, *secretOut, memo.Ordered[*secretOut]]
	allTrusts  *memo.Fold[struct{}, string, *trustOut, memo.Ordered[*trustOut]]
}

// newNetwork declares everything, in the order in which it is read.
func newNetwork(e *memo.Engine, in *inputs, options Options) *network {
	n := &network{Options: options, in: in, groupTwins: groupTwins(maphash.MakeSeed())}
	n.hintRules = newHintRules(e,
		[]*objects{in.gateways, in.listenerSets, in.routes, in.services, in.staticBackends},
		[]*objects{
			in.classes, in.gateways, in.listenerSets, in.routes, in.services, in.staticBackends,
			in.secrets, in.configMaps, in.extensions, in.trafficPolicies,
		})
	n.certificateRules = newCertificateRules(e, certificateIn{
		hintRules: n.hintRules, grants: in.grants, grantIndex: in.grantIndex, secrets: in.secrets, configMaps: in.configMaps,
	})
	n.namespaceRules = newNamespaceRules(e, namespaceIn{namespaces: in.namespaces, invalid: in.invalid})
	n.classRules = newClassRules(e, classIn{near: n.near, classes: in.classes, gateways: in.gateways})
	addresses := newAddressRules(e, addressIn{class: n.class, gateways: in.gateways, Options: options})
	n.gatewayRules = newGatewayRules(e, gatewayIn{
		hintRules: n.hintRules, namespaceRules: n.namespaceRules, certificateRules: n.certificateRules, classRules: n.classRules,
		addressRules: addresses, gateways: in.gateways, listenerSets: in.listenerSets, clientIndex: in.clientIndex, invalid: in.invalid,
	})
	n.coverageRules = newCoverageRules(e, coverageIn{gateway: n.gateway, certNames: n.certNames, gateways: in.gateways})
	n.referenceRules = newReferenceRules(e, referenceIn{
		hintRules: n.hintRules, backendObjects: in.backendObjects, grants: n.certificateRules.grants, extensions: in.extensions, invalid: in.invalid,
	})
	n.declarePolicies(e)
	n.declareHostPolicies(e)
	n.declareRoutes(e)
	n.declareStreams(e)
	n.declarePorts(e)
	n.declareBudget(e)
	n.declareDelegation(e)
	n.declareTables(e)
	aims := aimIn{byKind: in.byKind, invalid: in.invalid}
	n.backendPolicyRules = newBackendPolicyRules(e, backendPolicyIn{
		hintRules: n.hintRules, backendObjects: in.backendObjects, aimIn: aims, backendPolicies: in.backendPolicies,
	})
	n.tlsPolicyRules = newTLSPolicyRules(e, tlsPolicyIn{
		hintRules: n.hintRules, backendObjects: in.backendObjects, aimIn: aims, authority: n.authority, tlsPolicies: in.tlsPolicies,
	})
	n.declareBackends(e)
	n.declareSecrets(e)
	n.declareTrust(e)
	n.declareTLSStatus(e)
	n.declarePolicyStatus(e)
	n.declareStatus(e)
	n.declarePolicyViews(e)
	n.declareViews(e)
	return n
}

// deepEqual compares values of rules that have no cheaper equality.
func deepEqual[V any](a, b V) bool { return reflect.DeepEqual(a, b) }

// identical compares values that are kept by their rules while they are equal.
func identical[V comparable](a, b V) bool { return a == b }

// gather is the step of a fold that keeps its members in order.
func gather[ID comparable, M any](compare func(a, b M) int) func(memo.Ordered[M], []memo.Member[ID, M]) memo.Ordered[M] {
	empty := memo.NewOrdered(compare)
	return func(set memo.Ordered[M], members []memo.Member[ID, M]) memo.Ordered[M] {
		if set.Len() == 0 {
			set = empty
		}
		for _, m := range members {
			if m.Had {
				set = set.Delete(m.Old)
			}
			if m.Has {
				set = set.Insert(m.New)
			}
		}
		return set
	}
}
