// Package translate turns store.Change into Result: what Envoy is to be sent,
// the status of the objects, and the problems found on the way. It starts no
// goroutine, logs nothing and reads no clock.
//
// It is a network of rules and folds on package memo. A rule reads through its
// Ctx, calls a worker in a sub-package and returns its value; a worker is a
// pure function. The map, in the order of declaration (rules_*.go):
//
//	name          key                  reads                        value
//	class         class name           GatewayClass                 is it ours?
//	listeners     Gateway              Gateway, class               listeners, judged one by one
//	claims        port                 ← listeners                  who wants to bind the port
//	holders       port                 claims                       which Gateway keeps which from binding it
//	gateway       Gateway              listeners, holders           listeners, after conflicts between Gateways
//	grants        namespace            ReferenceGrant               those of the namespace
//	backend       reference            Service, Backend, grants     what the reference leads to
//	policy        TrafficPolicy        TrafficPolicy                one policy by itself
//	policies      HTTPRoute, rule      HTTPRoute, policy            what attaches to one rule of one route
//	attach        HTTPRoute            HTTPRoute, gateway, Namespace  per parentRef: virtual hosts, or why not
//	flat          HTTPRoute, port      HTTPRoute, backend           rules with their encodings
//	mount         HTTPRoute            attach, flat                 where which rules go
//	table         Gateway, port, host  ← mount, gateway             rules in the order of route.Compare
//	claimed       Gateway, port, host  ← mount, gateway             whether the host is anybody's own
//	host          Gateway, port, host  table, claimed               encoded VirtualHost
//	hosts         Gateway, port        ← host                       virtual hosts by domain
//	routeconfig   Gateway, port        hosts                        RouteConfiguration
//	listener      Gateway, port        gateway                      Listener
//	uses          Gateway, back end    ← mount                      whether the Gateway needs the cluster
//	cluster       back end             Service, slices, Backend     Cluster and ClusterLoadAssignment
//	push          Gateway, back end    cluster                      the same, for each Gateway that uses it
//	fates         policy, Gateway      ← mount, graft               what became of a policy there
//	policytargets TrafficPolicy        TrafficPolicy, HTTPRoute     targets that are not there
//	attached      Gateway, listener    ← mount                      number of accepted routes
//	*status       object               gateway, attach, flat …      status
//	problems      -                    ← listeners, attach, flat …  every problem
//
// ← marks the sources of a fold: it gets their changed members one by one, so
// that what has unbounded fan-in costs what changed.
package translate
