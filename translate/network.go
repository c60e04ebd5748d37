package translate

import (
	"fmt"
	"hash/maphash"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

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

	class       *memo.Rule[string, classOut]
	leased      *memo.Rule[manifest.Key, []string]
	listenerSet *memo.Rule[manifest.Key, *listen.Set]
	bound       *memo.Rule[string, listen.Bound]
	joined      *memo.Fold[string, manifest.Key, *listen.Set, memo.Ordered[*listen.Set]]
	listeners   *memo.Rule[manifest.Key, *listen.Gateway]
	claims      *memo.Fold[listen.Socket, string, *listen.Claim, memo.Ordered[*listen.Claim]]
	holders     *memo.Rule[listen.Socket, map[string]string]
	gateway     *memo.Rule[manifest.Key, *listen.Gateway]
	part        *memo.Rule[partKey, *listen.Part]
	owner       *memo.Rule[hostKey, string]
	elsewhere   *memo.Rule[manifest.Key, manifest.Key]
	near        *memo.Rule[manifest.Key, string]
	grants      *memo.Rule[string, []*gwv1.ReferenceGrant]
	client      *memo.Rule[manifest.Key, string]
	certificate *memo.Rule[backend.Reference, listen.Certificate]
	certNames   *memo.Rule[manifest.Key, []string]
	coverage    *memo.Rule[manifest.Key, *coverage]
	certified   *memo.Rule[listenerKey, *certified]
	secretUses  *memo.Fold[secretUse, string, struct{}, int]
	secret      *memo.Rule[manifest.Key, *secretOut]
	pushSecret  *memo.Rule[secretUse, *secretOut]
	backend     *memo.Rule[backend.Reference, backend.Resolution]
	extension   *memo.Rule[manifest.Key, *extensionOut]
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
	infra       *memo.Rule[manifest.Key, *ir.Infra]
	uses        *memo.Fold[useKey, flatKey, struct{}, struct{}]
	cluster     *memo.Rule[backend.Key, *clusterOut]
	push        *memo.Rule[useKey, *clusterOut]
	attached    *memo.Fold[listenerKey, manifest.Key, struct{}, int]

	backendAims    aiming // of BackendConfigPolicies
	backendPolicy  *memo.Rule[manifest.Key, *backendPolicyOut]
	backendConfig  *memo.Rule[manifest.Key, backend.Config]
	backendTargets *memo.Rule[manifest.Key, []backendTarget]

	authority       *memo.Rule[backend.Reference, listen.Authority]
	tlsAims         aiming // of BackendTLSPolicies
	tlsPolicy       *memo.Rule[manifest.Key, *tlsPolicyOut]
	backendTLS      *memo.Rule[manifest.Key, *backend.TLSTarget]
	tlsTargets      *memo.Rule[manifest.Key, []tlsTarget]
	users           *memo.Fold[manifest.Key, useKey, useKey, memo.Ordered[useKey]]
	tlsPolicyStatus *memo.Rule[manifest.Key, *status.Update]
	trust           *memo.Rule[string, *trustOut]
	pushTrust       *memo.Rule[trustUse, *trustOut]

	classStatus   *memo.Rule[manifest.Key, *status.Update]
	gatewayStatus *memo.Rule[manifest.Key, *status.Update]
	sound         *memo.Rule[int64, []metav1.Condition]
	routeStatus   *memo.Rule[manifest.Key, *status.Update]
	policyStatus  *memo.Rule[manifest.Key, *status.Update]

	listenerSetStatus   *memo.Rule[manifest.Key, *status.Update]
	backendPolicyStatus *memo.Rule[manifest.Key, *status.Update]
	extensionStatus     *memo.Rule[manifest.Key, *status.Update]
	invalidStatus       *memo.Rule[manifest.Key, *status.Update]

	problems *memo.Fold[struct{}, string, []manifest.Problem, memo.Ordered[problemSet]]
	allHosts *memo.Fold[struct{}, tableKey, *hostOut, memo.Ordered[*hostOut]]
	allUsed  *memo.Fold[struct{}, backend.Key, *clusterOut, memo.Ordered[*clusterOut]]
	allPorts *memo.Fold[struct{}, portKey, *portOut, memo.Ordered[*portOut]]

	allPolicies *memo.Fold[struct{}, manifest.Key, *ir.Policy, memo.Ordered[*ir.Policy]]
	allBounds   *memo.Fold[struct{}, string, listen.Bound, memo.Ordered[listen.Bound]]

	allSecrets *memo.Fold[struct{}, manifest.Key, *secretOut, memo.Ordered[*secretOut]]
	allTrusts  *memo.Fold[struct{}, string, *trustOut, memo.Ordered[*trustOut]]
}

// newNetwork declares everything, in the order in which it is read.
func newNetwork(e *memo.Engine, in *inputs, options Options) *network {
	n := &network{Options: options, in: in, groupTwins: groupTwins(maphash.MakeSeed())}
	n.declareElsewhere(e)
	n.declareCertificates(e)
	n.declareBounds(e)
	n.declareListeners(e)
	n.declareInfra(e)
	n.declareReferences(e)
	n.declarePolicies(e)
	n.declareHostPolicies(e)
	n.declareRoutes(e)
	n.declareStreams(e)
	n.declarePorts(e)
	n.declareBudget(e)
	n.declareDelegation(e)
	n.declareTables(e)
	n.declareBackendPolicies(e)
	n.declareBackendTLS(e)
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
