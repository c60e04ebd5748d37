// Package translate turns store.Change into Result: what Envoy is to be sent,
// the status of the objects, and the problems found on the way. It starts no
// goroutine, logs nothing and reads no clock.
//
// It is a network of rules and folds on package memo. A rule reads through its
// Ctx, calls a worker in a sub-package and returns its value; a worker is a
// pure function. The map, in the order of declaration (rules_*.go):
//
//	name          key                  reads                        value
//	elsewhere     kind, name           ← Gateway, routes, Service, Backend  the first of the name in any namespace, for hints
//	near          object               ← what references lead to    a similar name in its namespace, for hints
//	bound         namespace            Namespace, invalid           the hosts that the namespace may serve
//	class         class name           GatewayClass                 is it ours?
//	grants        namespace            ReferenceGrant               those of the namespace
//	certificate   reference            Secret, grants               whether a listener may and can use it
//	authority     reference            ConfigMap, Secret, grants    whether it has certificates of authorities
//	wish          Gateway              Gateway, class               addresses that it names, and how many it leaves open
//	pool          -                    ← wish                       who gets which address of the pool
//	leased        Gateway              pool                         its own (these three where there is a pool)
//	listenerset   ListenerSet          ListenerSet, Gateway, class, Namespace, certificate  its listeners, and whether the Gateway takes it
//	joined        Gateway              ← listenerset                sets that it takes, in the order of precedence
//	listeners     Gateway              Gateway, class, leased, certificate, authority, joined  its listeners and those of its sets, after conflicts among them
//	client        Gateway              listeners                    the Secret that it shows to back ends (where it names one)
//	claims        port                 ← listeners                  who wants to bind the port
//	holders       port                 claims                       which Gateway keeps which from binding it
//	gateway       Gateway              listeners, holders           listeners, after conflicts between Gateways
//	part          Gateway, object      gateway                      listeners of the Gateway itself, or of one of its sets
//	owner         Gateway, port, host  gateway                      which listener serves the host
//	certnames     Secret               Secret                       the hosts that its certificate is for
//	coverage      Gateway              gateway, certnames           the hosts that its listeners have certificates for
//	certified     Gateway, listener    coverage                     those of one listener
//	backend       reference            Service, Backend, grants     what the reference leads to
//	extension     GatewayExtension     GatewayExtension, backend    the service that policies name
//	aims          policy               policy, invalid              what it is for, valid or not (for each kind of policy)
//	policies at   object               ← aims, labels of objects    policies that may be for it
//	selected      policy               ← aims, labels of objects    objects that it may select
//	policy        TrafficPolicy        TrafficPolicy, invalid, extension  one policy by itself; an invalid one closes
//	policed       Gateway              policies at, joined          whether policies are for it or its ListenerSets
//	policies      HTTPRoute, rule      HTTPRoute, policies at, policy  what attaches to one rule of one route
//	hostpolicy    Gateway, listener    policies at, policy          what policies say for all of its routes
//	hostdemand    Gateway, listener    hostpolicy                   what routes have to know of that
//	attach        route                route, part, owner, certified, Namespace, bound  per parentRef: virtual hosts, or why not
//	contest       Gateway, listener    ← attach                     routes that lose to one of the other kind, HTTPRoute or GRPCRoute
//	admitted      route                attach, contest              attach, without what others hold
//	won           route                ← admitted                   routes of the other kind and of other namespaces that it keeps out
//	flat          node                 HTTPRoute, backend, link, policies, extension, quarantine  rules with their encodings
//	stream        TCP, TLS, UDPRoute   admitted, backend            what is handed on, and to whom
//	streams       Gateway, port        ← stream                     routes that ask for what comes to the port
//	losses        TCP, TLS, UDPRoute   ← listener                   what older routes have of what it asks for
//	overload      -                    ← admitted, flat, HTTPRoute  routes that would stand in too many tables
//	mount         HTTPRoute, GRPCRoute admitted, flat, hostdemand     where which rules go
//	fanout        node                 flat, who offers what        rules that its children can come to, those of heavy namespaces apart
//	demand        branch of a root     ← fanout by level, admitted    rules that each level of it can come to
//	cut           Gateway, port, host  ← demand                     which branches may not go all the way down
//	budget        branch of a root     demand, cut                  how deep it may hand requests on
//	wants         node                 flat, fanout, budget         properties of the children it asks for
//	points        node                 flat, fanout, budget         matches that hand requests down, and their hosts
//	link          node, candidate      points, HTTPRoute, Namespace, bound under which of the node's rules the candidate may stand
//	live          node's match         ← flat                       how many children stand under it
//	refused       node                 ← link, flat                 candidates that do not stand, and why
//	graft         node                 flat, admitted, live, refused, hostdemand  what the node adds to which tables
//	binding       node, candidate      link, flat, graft            entry of the child's status
//	bindings      HTTPRoute            ← binding                    all of its entries
//	children      HTTPRoute            bindings, admitted           entries of its status for routes above, and problems
//	table         Gateway, port, host  ← mount, graft, gateway      rules in the order of route.Compare; many also in short lists by path, encoded
//	twins         Gateway, port, host  host                         pairs of rules that match the same requests
//	shadowed      route                ← twins                      its matches that another match leaves no request, and those of other namespaces
//	claimed       Gateway, port, host  ← mount, gateway             whether the host is anybody's own
//	host          Gateway, port, host  table, claimed, hostpolicy   encoded VirtualHost
//	hosts         chain                ← host                       virtual hosts by domain
//	misdirected   chain                gateway                      hosts of other chains, which answer 421
//	routeconfig   chain                hosts, misdirected           RouteConfiguration
//	listener      Gateway, port        gateway, streams             Listener
//	infra         Gateway              gateway                      addresses and ports that its Envoy needs
//	uses          Gateway, back end    ← mount, graft, stream       whether the Gateway needs the cluster
//	backendpolicy BackendConfigPolicy  BackendConfigPolicy          one policy by itself
//	backendconfig Service or Backend   backendpolicy                its policies, merged
//	backendtargets BackendConfigPolicy Service, Backend, backendconfig  what became of it at each target
//	tlspolicy     BackendTLSPolicy     BackendTLSPolicy, authority  one policy by itself
//	backendtls    Service or Backend   tlspolicy                    which policy has which of its ports
//	tlstargets    BackendTLSPolicy     Service, Backend, backendtls what became of it at each target
//	cluster       back end             Service, slices, Backend, backendconfig, backendtls  Cluster and ClusterLoadAssignment
//	push          Gateway, back end    cluster                      the same, for each Gateway that uses it
//	secret        Secret               Secret                       certificate and key, encoded
//	pushsecret    Gateway, Secret      ← gateway, push, secret      the same, for each Gateway that uses it
//	trust         name on the wire     ConfigMap, Secret            certificates of authorities, encoded
//	pushtrust     Gateway, name        ← push, gateway, trust       the same, for each Gateway that uses them
//	users         Service or Backend   ← uses                       the Gateways that send to it
//	fates         policy, Gateway      ← mount, graft               what became of a policy there
//	policyview    policy                policy, policytargets, backendtargets, tlstargets  a policy of any kind as explain shows it
//	policytargets TrafficPolicy        TrafficPolicy, HTTPRoute, listeners  targets that are not there
//	attached      Gateway, listener    ← mount, stream              number of accepted routes
//	sound         generation                                        conditions of a route that serves as it is written
//	*status       object               gateway, admitted, flat …      status
//	invalidstatus object               what the store tells of it, class  status of one that its schema refuses
//	problems      -                    ← listeners, admitted, flat …  every problem
//
// The host of a table stands in a chain of its port: with TLS, each listener has one.
//
// A node is a route on one port under one chain of parents (flatKey); a root has
// an empty chain. flat and link recurse: the flat of a child reads the link to it,
// and the link the flat of the parent, whose chain is shorter, up to the root.
//
// ← marks the sources of a fold: it gets their changed members one by one, so
// that what has unbounded fan-in costs what changed.
package translate
