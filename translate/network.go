package translate

import (
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/memo"
	"github.com/gatefold/gatefold/translate/status"
)

// network has all rules and folds of the translation, grouped into parts. A part is a struct of rules and folds
// whose name ends in "Rules" (or viewFolds). The input struct of a part, whose name ends in "In", lists what the
// part may read: inputs, single rules and folds, or other parts. docs/design/rules.md lists each rule with what
// it reads.
type network struct {
	Options
	in *inputs

	hints        *hintRules
	certificates *certificateRules
	namespaces   *namespaceRules
	classes      *classRules
	trafficAims  targetRules
	gateways     *gatewayRules
	coverage     *coverageRules
	references   *referenceRules
	credentials  *credentialRules
	extensions   *extensionRules

	policies   *policyRules
	plugins    *pluginRules
	closed     *closedRules
	limits     *limitRules
	hostLevels *hostLevelRules

	attachments  *attachRules
	contests     *contestRules
	nodes        *nodeRules
	claims       *claimRules
	tried        *triedRules
	spread       *spreadRules
	hostPolicies *hostPolicyRules
	roots        *rootRules
	streams      *streamRules
	ports        *portRules

	offers  *offerRules
	fanouts *fanoutRules
	budgets *budgetRules
	wants   *wantRules
	links   *linkRules
	grafts  *graftRules

	identities   *identityRules
	tables       *tableRules
	shadows      *shadowRules
	hiddens      *hiddenRules
	loops        *loopRules
	exposures    *exposedRules
	routeConfigs *routeConfigRules

	backendPolicies *backendPolicyRules
	tlsPolicies     *tlsPolicyRules
	clusters        *clusterRules
	requirements    *requirementRules
	secrets         *secretRules
	trusts          *trustRules
	signIns         *signInRules

	tlsStatuses     *tlsStatusRules
	policyStatuses  *policyStatusRules
	gatewayStatuses *gatewayStatusRules
	children        *childRules
	routeStatuses   *routeStatusRules
	invalidStatuses *invalidStatusRules

	problems    *problemFold
	holdings    *holdingFold
	policyViews *policyViewRules
	views       *viewFolds
}

// newNetwork returns a new network. It declares the rules and folds of all parts of the network on the memo.Engine e.
// Each part is declared after the parts that it reads.
func newNetwork(e *memo.Engine, in *inputs, options Options) *network {
	n := &network{Options: options, in: in}
	n.addGateways(e)
	n.addPolicies(e)
	n.addRoutes(e)
	n.addDelegation(e)
	n.addTables(e)
	n.addBackends(e)
	n.addStatuses(e)
	n.addViews(e)
	return n
}

// addGateways declares the rules of the memo.Engine that read Gateways and their listeners, references,
// credentials and GatewayExtensions.
func (n *network) addGateways(e *memo.Engine) {
	in := n.in
	n.hints = newHintRules(e, in.invalid,
		[]*objects{in.gateways, in.listenerSets, in.routes, in.services, in.staticBackends},
		[]*objects{
			in.classes, in.gateways, in.listenerSets, in.routes, in.services, in.staticBackends,
			in.secrets, in.configMaps, in.extensions, in.trafficPolicies,
		})
	n.certificates = newCertificateRules(e, certificateIn{
		hintRules: n.hints, grants: in.grants, grantIndex: in.grantIndex, secrets: in.secrets, configMaps: in.configMaps,
		assumed: n.Assume.Certificates,
	})
	n.namespaces = newNamespaceRules(e, namespaceIn{namespaces: in.namespaces, invalid: in.invalid})
	n.classes = newClassRules(e, classIn{near: n.hints.near, classes: in.classes, gateways: in.gateways, assumed: n.Assume.Classes})
	addresses := newAddressRules(e, addressIn{class: n.classes.class, gateways: in.gateways, AddressPool: n.AddressPool, Bind: n.Bind})
	n.trafficAims = newTargetRules(e, n.aims(), trafficPolicyKind(), in.routes, in.gateways, in.listenerSets)
	n.gateways = newGatewayRules(e, gatewayIn{
		aims: n.trafficAims, unprogrammed: newUnprogrammed(e, in.invalid),
		hintRules: n.hints, namespaceRules: n.namespaces, authority: n.certificates.authority, certificate: n.certificates.certificate,
		class: n.classes.class, addressRules: addresses,
		gateways: in.gateways, listenerSets: in.listenerSets, routes: in.routes, namespaces: in.namespaces,
		holders: in.holders, clientIndex: in.clientIndex, invalid: in.invalid,
	})
	n.coverage = newCoverageRules(e, coverageIn{gateway: n.gateways.gateway, certNames: n.certificates.certNames, gateways: in.gateways})
	n.references = newReferenceRules(e, referenceIn{
		hintRules: n.hints, backendObjects: in.backendObjects, grants: n.certificates.grants, invalid: in.invalid,
	})
	n.credentials = newCredentialRules(e, credentialIn{hintRules: n.hints, grants: n.certificates.grants, secrets: in.secrets})
	n.extensions = newExtensionRules(e, extensionIn{
		hintRules: n.hints, credentialRules: n.credentials,
		backend: n.references.backend, grants: n.certificates.grants, extensions: in.extensions, configMaps: in.configMaps, invalid: in.invalid, quarantine: in.quarantine,
		discoveries: in.discoveries, holders: in.holders,
	})
}

// addPolicies declares the rules of the memo.Engine that read TrafficPolicies. They also find what the policies apply
// to: the rules of HTTPRoutes and other routes, and listeners.
func (n *network) addPolicies(e *memo.Engine) {
	in := n.in
	n.policies = newPolicyRules(e, policyIn{
		hintRules: n.hints, extensionRules: n.extensions, credentialRules: n.credentials, targetRulesIn: n.aims(), aims: n.trafficAims,
		expressionTextRules: newExpressionTextRules(e, in.trafficPolicies, n.MaxCopies),
		trafficPolicies:     in.trafficPolicies, routes: in.routes, gateways: in.gateways, listenerSets: in.listenerSets,
	})
	n.plugins = newPluginRules(e, pluginIn{routes: in.routes, services: in.services, invalid: in.invalid})
	n.closed = newClosedRules(e, closedIn{
		aims: n.policies.aims, routes: in.routes, listenerSets: in.listenerSets, trafficPolicies: in.trafficPolicies, invalid: in.invalid,
	})
	n.limits = newLimitRules(e, n.policies.policy)
	n.hostLevels = newHostLevelRules(e, hostLevelIn{
		policyRules: n.policies, gatewayRules: n.gateways, extensionRules: n.extensions, gateways: in.gateways, listenerSets: in.listenerSets,
	})
}

// aims returns the input of newTargetRules. It is the same for all kinds of policies.
func (n *network) aims() targetRulesIn {
	return targetRulesIn{byKind: n.in.byKind, invalid: n.in.invalid}
}

// addRoutes declares the rules of the memo.Engine for routes. They attach HTTPRoutes and other routes to listeners,
// put the rules of root routes into virtual hosts, and build the listeners of Envoy.
func (n *network) addRoutes(e *memo.Engine) {
	in := n.in
	n.attachments = newAttachRules(e, attachIn{
		hintRules: n.hints, namespaceRules: n.namespaces, gatewayRules: n.gateways, coverageRules: n.coverage,
		routes: n.closed.served, gateways: in.gateways, listenerSets: in.listenerSets, invalid: in.invalid, MaxCopies: n.MaxCopies,
	})
	n.contests = newContestRules(e, contestIn{
		attach: n.attachments.attach, gateway: n.gateways.gateway, routes: n.closed.served, holders: in.holders,
	})
	n.nodes = newNodeRules(e, nodeIn{
		policyRules: n.policies, backend: n.references.backend, admitted: n.contests.admitted,
		routes: n.closed.served, quarantine: in.quarantine, WeightScope: n.WeightScope, Weighted: n.Weighted,
		WildcardNamespace: n.WildcardNamespace, TrustedHops: n.TrustedHops, backends: in.backendObjects, sockets: n.gateways.sockets, Guard: n.Guard,
	})
	n.claims = newClaimRules(e, claimIn{admitted: n.contests.admitted, gateway: n.gateways.gateway})
	n.tried = newTriedRules(e, triedIn{contestRules: n.contests, flat: n.nodes.flat, routes: n.closed.served})
	n.spread = newSpreadRules(e, spreadIn{
		overtried: n.tried.all,
		level:     n.hostLevels.level, policed: n.hostLevels.policed, policyRules: n.policies, breadth: n.claims.breadth,
		streams: n.claims.streams, admitted: n.contests.admitted, flat: n.nodes.flat,
		gateway: n.gateways.gateway, routes: n.closed.served, MaxCopies: n.MaxCopies,
	})
	n.hostPolicies = newHostPolicyRules(e, hostPolicyIn{
		level: n.hostLevels.level, policed: n.hostLevels.policed, gatewayRules: n.gateways, overload: n.spread.overload,
		quarantine: in.quarantine,
	})
	n.roots = newRootRules(e, rootIn{spreadRules: n.spread, hostPolicyRules: n.hostPolicies, flat: n.nodes.flat, routes: n.closed.served})
	n.streams = newStreamRules(e, streamIn{
		spreadRules: n.spread, aims: n.policies.aims, policies: n.policies.policies, gatewayRules: n.gateways,
		backend: n.references.backend, routes: in.routes,
	})
	n.ports = newPortRules(e, portIn{
		gatewayRules: n.gateways, hostPolicy: n.hostPolicies.hostPolicy, policed: n.hostLevels.policed, streams: n.streams.streams, stream: n.streams.stream,
		holders: in.holders, ExclusivePorts: n.ExclusivePorts, TrustedHops: n.TrustedHops,
	})
}

// addDelegation declares the rules of the memo.Engine for delegation. They find child routes, and add the HTTPRoute
// rules of child routes to the virtual hosts of their root routes.
func (n *network) addDelegation(e *memo.Engine) {
	n.offers = newOfferRules(e, offerIn{routes: n.closed.served})
	n.fanouts = newFanoutRules(e, fanoutIn{offerRules: n.offers, flat: n.nodes.flat, routes: n.closed.served})
	n.budgets = newBudgetRules(e, budgetIn{
		count: n.offers.count, contestRules: n.contests, fanout: n.fanouts.fanout, routes: n.closed.served, MaxDepth: n.MaxDepth,
		MaxRoutes: n.MaxRoutes,
	})
	n.wants = newWantRules(e, wantIn{offerRules: n.offers, flat: n.nodes.flat, fanout: n.fanouts.fanout, budget: n.budgets.budget})
	n.links = newLinkRules(e, linkIn{
		namespaceRules: n.namespaces, contestRules: n.contests, wantRules: n.wants, flat: n.nodes.flat, routes: n.closed.served,
		MaxDepth: n.MaxDepth,
	})
	n.nodes.link = n.links.link // the only circular dependency: see nodeRules.link
	n.tried.below(n.links.link)
	n.grafts = newGraftRules(e, graftIn{
		hintRules: n.hints, contestRules: n.contests, hostPolicyRules: n.hostPolicies, offers: n.offers, wantRules: n.wants,
		link: n.links.link, live: n.links.live, pairs: n.links.pairs, rejected: n.links.rejected,
		flat: n.nodes.flat, overload: n.spread.overload, delegators: n.namespaces.delegators, routes: n.closed.served, WildcardNamespace: n.WildcardNamespace,
	})
}

// addTables declares the rules of the memo.Engine that compute virtual hosts and RouteConfigurations.
func (n *network) addTables(e *memo.Engine) {
	n.identities = newIdentityRules(e, identityIn{
		hostPolicyRules: n.hostPolicies, level: n.hostLevels.level, quarantine: n.in.quarantine, mount: n.roots.mount, graft: n.grafts.graft,
		routes: n.closed.served, flat: n.nodes.flat, link: n.links.link,
	})
	n.tables = newTableRules(e, tableIn{
		hostPolicyRules: n.hostPolicies, claimed: n.claims.claimed, identityRules: n.identities, gateways: n.gateways,
		quarantine:  n.in.quarantine,
		TrustedHops: n.TrustedHops, Weighted: n.Weighted,
	})
	n.shadows = newShadowRules(e, shadowIn{host: n.tables.host})
	n.hiddens = newHiddenRules(e, hiddenIn{host: n.tables.host, claimed: n.claims.claimed})
	n.loops = newLoopRules(e, loopIn{mounted: n.identities.mounted, grafted: n.identities.grafted, host: n.tables.host, TrustedHops: n.TrustedHops})
	n.exposures = newExposedRules(e, exposedIn{mounted: n.identities.mounted, host: n.tables.host, TrustedHops: n.TrustedHops})
	n.routeConfigs = newRouteConfigRules(e, routeConfigIn{gatewayRules: n.gateways, host: n.tables.host})
}

// addBackends declares the rules of the memo.Engine that compute clusters, and the certificates and secrets that
// Envoys get.
func (n *network) addBackends(e *memo.Engine) {
	in := n.in
	n.backendPolicies = newBackendPolicyRules(e, backendPolicyIn{
		hintRules: n.hints, backendObjects: in.backendObjects, targetRulesIn: n.aims(), backendPolicies: in.backendPolicies,
	})
	n.tlsPolicies = newTLSPolicyRules(e, tlsPolicyIn{
		hintRules: n.hints, backendObjects: in.backendObjects, targetRulesIn: n.aims(), authority: n.certificates.authority,
		tlsPolicies: in.tlsPolicies,
	})
	n.clusters = newClusterRules(e, clusterIn{
		backendObjects: in.backendObjects, backendPolicyRules: n.backendPolicies, tlsPolicyRules: n.tlsPolicies,
		backend: n.references.backend,
		mount:   n.roots.mount, graft: n.grafts.graft, hostPolicy: n.hostPolicies.hostPolicy, stream: n.streams.stream,
		routes: in.routes, sockets: n.gateways.sockets, allowed: n.namespaces.allowed, Guard: n.Guard,
	})
	n.requirements = newRequirementRules(e, requirementIn{extension: n.extensions.extension, uses: n.clusters.uses, gateway: n.gateways.gateway})
	n.secrets = newSecretRules(e, secretIn{gateway: n.gateways.gateway, push: n.clusters.push, secrets: in.secrets})
	n.trusts = newTrustRules(e, trustIn{
		certificateRules: n.certificates, gateway: n.gateways.gateway, push: n.clusters.push, SystemCA: n.SystemCA,
	})
	n.signIns = newSignInRules(e, signInIn{
		credentialRules: n.credentials, mount: n.roots.mount, graft: n.grafts.graft, hostPolicy: n.hostPolicies.hostPolicy,
		extension: n.extensions.extension, cluster: n.clusters.cluster,
		extensions: in.extensions, TrustedHops: n.TrustedHops,
	})
}

// addStatuses declares the rules of the memo.Engine that compute the statuses of objects, and the fold that collects
// all problems.
func (n *network) addStatuses(e *memo.Engine) {
	in := n.in
	n.tlsStatuses = newTLSStatusRules(e, tlsStatusIn{
		tlsPolicy: n.tlsPolicies.tlsPolicy, tlsTargets: n.tlsPolicies.tlsTargets, uses: n.clusters.uses, tlsPolicies: in.tlsPolicies,
	})
	n.policyStatuses = newPolicyStatusRules(e, policyStatusIn{
		hintRules: n.hints, backendPolicyRules: n.backendPolicies, backend: n.references.backend,
		aims: n.policies.aims, policy: n.policies.policy, listenerSet: n.gateways.listenerSet,
		listeners: n.gateways.listeners, hostPolicy: n.hostPolicies.hostPolicy,
		mount: n.roots.mount, graft: n.grafts.graft, stream: n.streams.stream,
		trafficPolicies: in.trafficPolicies, routes: in.routes, gateways: in.gateways, listenerSets: in.listenerSets,
	})
	n.gatewayStatuses = newGatewayStatusRules(e, gatewayStatusIn{
		gateway: n.gateways.gateway, listenerSet: n.gateways.listenerSet, part: n.gateways.part, hostPolicyRules: n.hostPolicies, coverageRules: n.coverage,
		class: n.classes.class, mount: n.roots.mount, stream: n.streams.stream,
		classes: in.classes, gateways: in.gateways, listenerSets: in.listenerSets,
	})
	n.children = newChildRules(e, childIn{
		hintRules: n.hints, bindings: n.grafts.bindings, graft: n.grafts.graft, admitted: n.contests.admitted, routes: in.routes,
	})
	n.routeStatuses = newRouteStatusRules(e, routeStatusIn{
		childRules: n.children, mount: n.roots.mount, stream: n.streams.stream, losses: n.ports.losses, routes: in.routes,
	})
	n.invalidStatuses = newInvalidStatusRules(e, invalidStatusIn{gatewayRules: n.gateways, effects: n.policyStatuses.effects, invalid: in.invalid, served: n.closed.served})
	n.problems = newProblems(e, n.classes, n.gateways, n.coverage, n.extensions, n.policies, n.plugins, n.closed, n.limits, n.policyStatuses, n.backendPolicies, n.tlsPolicies,
		n.clusters, n.contests, n.streams, n.ports, n.spread, n.children, n.grafts, n.identities, n.tables, n.shadows, n.hiddens, n.loops, n.exposures, n.nodes,
		n.signIns)
	n.holdings = newHoldings(e, n.gateways, n.contests, n.ports, n.extensions)
}

// recalls returns the recalls of all parts.
func (n *network) recalls() []settler {
	return []settler{n.gateways.before, n.contests.before, n.contests.given, n.ports.before, n.extensions.before}
}

// addViews declares the rules and folds of the memo.Engine that collect the content of an ir.View. A View shows
// everything that is served, for explain.
func (n *network) addViews(e *memo.Engine) {
	in := n.in
	n.policyViews = newPolicyViewRules(e, policyViewIn{
		aims: n.policies.aims, policy: n.policies.policy, backendAims: n.backendPolicies.backendAims,
		backendPolicy: n.backendPolicies.backendPolicy, backendTargets: n.backendPolicies.backendTargets, tlsAims: n.tlsPolicies.tlsAims,
		tlsPolicy: n.tlsPolicies.tlsPolicy, tlsTargets: n.tlsPolicies.tlsTargets, lost: n.policyStatuses.lost,
		trafficPolicies: in.trafficPolicies, backendPolicies: in.backendPolicies, tlsPolicies: in.tlsPolicies, invalid: in.invalid,
	})
	n.views = newViewFolds(e, viewIn{
		host: n.tables.host, listener: n.ports.listener, cluster: n.clusters.cluster, requirement: n.requirements.requirement,
		flat: n.nodes.flat, rejected: n.links.rejected,
	})
}

// statuses returns all rules whose values are statuses of objects.
func (n *network) statuses() []*memo.Rule[manifest.Key, *status.Update] {
	return []*memo.Rule[manifest.Key, *status.Update]{
		n.gatewayStatuses.classStatus, n.gatewayStatuses.gatewayStatus, n.gatewayStatuses.listenerSetStatus, n.routeStatuses.routeStatus,
		n.policyStatuses.policyStatus, n.backendPolicies.backendPolicyStatus, n.tlsStatuses.tlsPolicyStatus, n.extensions.extensionStatus,
		n.invalidStatuses.invalidStatus,
	}
}
