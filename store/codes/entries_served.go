package codes

// ofGateways returns the entries about GatewayClasses, Gateways, ListenerSets and certificates.
func ofGateways() []Entry {
	return []Entry{
		{"AddressNotAssigned", Error, "No address of `--address-pool` is left for the Gateway. It is not served.", "Give a larger pool, or write an address into `spec.addresses`."},
		{"AddressNotUsable", Error, "Another Gateway has the same address and port. The older one keeps it; this listener is not served.", "Use another port or address."},
		{"AuthoritiesExpired", Warning, "All CA certificates of a bundle have expired: no certificate that they signed is accepted.", "Replace the bundle."},
		{"CertificateExpired", Warning, "The certificate has expired. Envoy still shows it, and clients refuse it.", "Renew the certificate."},
		{"CertificateMismatch", Warning, "No certificate of the listener is valid for the hostname: browsers refuse the connection.", "Refer to a certificate for the hostname, or correct the hostname."},
		{"CertificateNotYetValid", Warning, "The certificate is valid only later. Clients refuse it until then.", "Check the clock of the machine, or replace the certificate."},
		{"ForeignGatewayClass", Warning, "The GatewayClass belongs to another controller. gatefold does not serve the Gateway.", "Use `gatewayClassName: gatefold`, or remove the Gateway."},
		{"GatewayClassNotFound", Error, "The Gateway names a GatewayClass that does not exist. The Gateway is not served.", "Use `gatewayClassName: gatefold`, which needs no object."},
		{"InvalidCACertificateKind", Error, "A reference to CA certificates names a kind other than ConfigMap or Secret.", "Refer to a ConfigMap or Secret with `ca.crt`."},
		{"InvalidCACertificateRef", Error, "The object with the CA certificates does not exist, or has no usable `ca.crt`.", "Create it, or correct the name."},
		{"InvalidCertificateRef", Error, "The Secret of a listener does not exist, or has no usable certificate and key. The listener is not served without another certificate.", "Create the Secret (`kubernetes.io/tls`), or correct the name."},
		{"InvalidClientCertificateRef", Error, "The Secret with the Gateway's client certificate does not exist, or cannot be used. The Gateway shows backends no certificate.", "Create the Secret, or correct the name."},
		{"InvalidParameters", Error, "A Gateway or GatewayClass refers to parameters. gatefold takes none.", "Remove `parametersRef`; use flags and annotations."},
		{"InvalidRouteKinds", Error, "`allowedRoutes.kinds` names a kind that cannot attach to this protocol.", "Use the kinds that the hint lists, or leave `kinds` out."},
		{"ListenerConflict", Error, "Two listeners of one object have the same name. Neither is served; the other listeners are.", "Rename one of the two."},
		{"NotAllowed", Error, "The Gateway does not admit this ListenerSet.", "Have the Gateway's `allowedListeners` admit its namespace."},
		{"ParentNotAccepted", Error, "The Gateway of the ListenerSet does not exist, or is not accepted.", "Create the Gateway, or correct `parentRef`."},
		{"ProtocolConflict", Error, "Two listeners want one port with different protocols.", "Give one of them another port."},
		{"RevisionFrozen", Error, "An Envoy of stage `canary` rejected the newest revision, left before it accepted it, has not answered, or too many of its requests failed (`--stage-max-errors`). The other Envoys of its Gateway stay on the revision before.", "Fix or revert the edit: a revision that the canaries accept goes to all. `gatefold reload --promote` sends this one to all as it is."},
		{"TooManyEnvoys", Error, "With `serve --envoy`, as many Envoys run as `--max-envoys` allows. This Gateway has none.", "Remove a Gateway, raise `--max-envoys`, or run this Gateway's Envoy yourself."},
		{"UnsupportedAddress", Error, "An address is not an IP address, or Envoy cannot listen on it.", "Use type IPAddress with an address of the machine that Envoy runs on."},
		{"UnsupportedProtocol", Error, "gatefold does not serve this protocol, or a backend speaks a protocol that the route cannot use.", "For a listener, use HTTP, HTTPS, TLS, TCP or UDP; for a backend, correct `appProtocol`."},
	}
}

// ofRoutes returns the entries about routes and their backends.
func ofRoutes() []Entry {
	return []Entry{
		{"BackendNotFound", Error, "A reference leads to a Service, Backend or route that does not exist. Its share of requests answers 500, or UNAVAILABLE for a GRPCRoute.", "Create the object, or correct the reference; the hint has the nearest name."},
		{"DelegatedRefField", Warning, "A reference to routes has a field that has no effect there: `weight`, `port` or `filters`.", "Remove the field."},
		{"Contested", Warning, "Another route asks for the same requests, host or connections, and one of the two does not get them. The message says which.", "Decide which route has them, and change the other one."},
		{"DelegationNotAllowed", Error, "With `--cluster-paths`, a route outside cluster paths delegates to a route of another namespace that has no `parentRefs`, and the Namespace of that route does not permit it. The rule delegates nothing to that route.", "Have the platform team add the namespace of the delegating route to `gatefold.io/delegation-from` of the other Namespace, or the other team write `parentRefs`."},
		{"EndpointRefused", Error, "A backend leads to the metadata service of a cloud, to gatefold itself or to Envoy's admin interface; or, with `--cluster-paths`, to a listener of another namespace's Gateway, or to what `gatefold.io/backends` of its Namespace does not name. gatefold sends no request there.", "Correct the address. If it is meant, name it in `--allow-endpoints` or, for `gatefold.io/backends`, in that annotation."},
		{"EnvoyTooOld", Either, "A connected Envoy lacks what the rule or the Gateway's policy needs, and answers 500 for it. A warning if other Envoys serve it.", "Upgrade the Envoy that the message names. No edit or reload is needed then."},
		{"HostnameConflict", Error, "Routes of the other kind, HTTPRoute or GRPCRoute, have all hosts of the route on the listener, or two listeners want one hostname of a port. The one that comes first is served. Or a listener of a team would take a host of another namespace.", "Use different hostnames or listeners, or have the platform team add the hostname to the Namespace's `gatefold.io/hostnames`."},
		{"HostnameNotAllowed", Error, "The Namespace's annotation `gatefold.io/hostnames` does not allow the hostname. It is not served.", "Remove the hostname, or have the platform team add it to the annotation."},
		{"ManyRulesOfOnePath", Warning, "Many rules have the same path and differ only by method, header or query. Envoy tries them one by one, which makes requests slower.", "Give them different paths."},
		{"NeverMatches", Warning, "No request has the path, header or value of a match, as Envoy changes requests before it compares: it decodes `%61` and the like in paths, resolves `.` and `..`, and removes headers such as `X-Envoy-*` and those with an underscore. The requests that are meant go to other rules, without the policies of this one.", "Write what Envoy compares: the message says it."},
		{"NoBackends", Warning, "The rule has neither `backendRefs` nor a redirect: it answers 500, or UNAVAILABLE for a GRPCRoute.", "Add `backendRefs`, or a RequestRedirect filter."},
		{"NoEndpoints", Warning, "The Service has no EndpointSlice, none for the port, or no ready endpoint: Envoy answers 503.", "Write an EndpointSlice with the label `kubernetes.io/service-name`, or use a Backend. gatefold does not look for Pods."},
		{"NoMatchingListenerHostname", Error, "The route's hostnames and those of the listener have nothing in common. The route is not served there.", "Correct `hostnames`, or attach the route to another listener."},
		{"NoMatchingParent", Error, "The parentRef names a Gateway, listener, route or rule that does not exist.", "Create the parent, or correct the name."},
		{"NoWeight", Warning, "All backendRefs of a rule have weight 0: it answers 500.", "Give one of them a weight greater than 0."},
		{"NotAllowedByListeners", Error, "No listener of the parent admits the route, by its kind or its namespace.", "Change `allowedRoutes` of the listener, or move the route."},
		{"NotAllowedByParent", Error, "The route names an HTTPRoute as its parent, and no rule of that route delegates to it or admits it.", "Add a `backendRef` to the route, or `allowedRoutes`, to a rule of the parent."},
		{"OlderRouteWins", Warning, "Two routes want the same TCP or UDP listener, or the same TLS hostname. The older one is served.", "Give this route a listener or hostname of its own."},
		{"ParentMatchWins", Warning, "An inheriting child asks for another value than its parent's match. The parent's value counts.", "Remove the value from the child, or write the parent's."},
		{"ProtectedHeader", Error, "A filter or policy changes a header that frames messages, such as `content-length`. The rule answers 500.", "Remove the header from the filter or policy."},
		{"RefNotPermitted", Error, "A reference leads into another namespace, and no ReferenceGrant there allows it.", "Create a ReferenceGrant in the namespace of the target."},
		{"RefusedByEnvoy", Error, "Envoy would reject the rule: for example an invalid regular expression or header value. The rule answers 500; a match is left out.", "Change the value that the message names."},
		{"RejectedByEnvoy", Error, "Every connected Envoy rejected the rule. It answers 500 until the rule changes; all other rules are served.", "Change what Envoy's words name. If the rule is valid, please report it."},
		{"RouteWeightIgnored", Warning, "The annotation `kgateway.dev/route-weight` has no effect: weights are off, or the route is not an HTTPRoute.", "Start gatefold with `--weighted-route-precedence`, or remove the annotation."},
		{"ServesNowhere", Warning, "The route is never reached: it has no parent, and no route delegates to it.", "Add a parentRef to a Gateway, or a reference from another route."},
		{"Shadowed", Warning, "Another route or match takes the same requests, host or connections and comes first. This one gets none of them.", "Remove one of the two, or make them differ."},
		{"ShadowedByListener", Warning, "A more specific listener serves the host, so that the route gets no request through this one.", "Attach the route to the more specific listener."},
		{"TooManyCopies", Error, "The copies of the route's matches would cost Envoy too much (`--max-copies`): many hostnames or listeners, times regular expressions, policies and filters. The route is not served: its hosts, and what a parent hands to it, answer 500. Or a policy of a Gateway, a listener or a ListenerSet would be on too many hosts: the routes of its listeners answer 500.", "Use fewer hostnames, listeners and regular expressions, or smaller policies and filters, or raise the limit."},
		{"TooManyExpressions", Either, "One request may make Envoy try more regular expressions of one namespace on one host than 64, or than 32 whose common prefix is not longer than `/`. Those of paths, headers, query parameters, origins and `matches` of `rbac` count. With `--cluster-paths`, the hosts of such a route outside of the cluster paths answer 500, and so does what a parent hands to it. Elsewhere it is served.", "Compare with path prefixes and exact values, or begin each expression with a text of its own."},
		{"TooManyRoutes", Error, "Delegation or inclusion would come to more rules than `--max-routes-per-host`. The delegating rule answers 500.", "Split the tree, use fewer matches, or raise the limit."},
		{"CostlyExpression", Either, "A regular expression comes to more than 2,000 instructions, where a class of characters counts one for each of its ranges. With `--cluster-paths`, and outside of the cluster paths, Envoy is not sent it: the match is left out, or the policy closes its targets. Elsewhere it is served.", "Repeat fewer times, and write small classes: `[a-z0-9]` in place of `\\w`, `\\pL` or `[^/]` of many repetitions. Or compare with a prefix."},
		{"UnsupportedParent", Error, "A parentRef names a kind that this route cannot have as a parent.", "Name a Gateway or a ListenerSet; for an HTTPRoute, also an HTTPRoute."},
		{"UnsupportedValue", Either, "The value is valid, and gatefold or Envoy cannot do what it says. The rule, policy or listener concerned is not served.", "Use what the hint names."},
	}
}

// ofPolicies returns the entries about policies and extensions.
func ofPolicies() []Entry {
	return []Entry{
		{"AnyToken", Warning, "A provider of tokens has no `issuer` or no `audiences`: a token that the provider issued for another service is accepted, too.", "Write the `iss` and the `aud` of tokens that are for this service."},
		{"Conflicted", Error, "An older policy is for the same target. This one is not applied.", "Remove one of the two, or give it another target."},
		{"ExtensionNotAllowed", Error, "A GatewayExtension, or a filter ExternalAuth of protocol GRPC, lies outside cluster paths. Its service could change answers to other users of the listener, so gatefold asks no such service: policies that use it close their targets with 500, and so does the filter its rule.", "Have the platform team define it in a cluster path, if it trusts the service."},
		{"ExtensionNotFound", Error, "The policy names a GatewayExtension that does not exist. Its routes answer 500.", "Create it, or correct the name."},
		{"ExtensionNotUsable", Error, "The GatewayExtension of the policy is invalid, or its service cannot be found. Routes of the policy answer 500.", "Correct the GatewayExtension; its own problems say what is wrong."},
		{"Invalid", Error, "The policy cannot be applied as a whole. It closes its targets.", "Change the field that the message names."},
		{"InvalidCredentials", Error, "The users, keys or client secret of the policy cannot be used: a hash that Envoy does not accept, a key of two clients, an entry that is missing or empty. Routes of the policy answer 500.", "Write users as `gatefold hash` prints them, one key for each client, and a client secret into the entry `client-secret`."},
		{"ForgeableHeaders", Warning, "A filter ExternalAuth copies every header of the service's answer to the backend. A header that the answer lacks reaches the backend as the client sends it, so that the client can choose who it is.", "List the headers that the service writes in `allowedResponseHeaders`."},
		{"InvalidKind", Error, "A reference names a kind that cannot be used there.", "Use one of the kinds that the message or hint names."},
		{"InvalidKeys", Error, "The keys of a provider of tokens cannot be used: they are secret, damaged or missing, or of a kind that Envoy does not verify with. Routes of the policies that name the extension answer 500.", "Write public keys as a JWKS, a JWK, or PEM."},
		{"LoosensParent", Warning, "A policy of a delegated route, or its filter ExternalAuth, turns off or replaces `acl`, `rbac`, `extAuth`, `jwtAuth`, `basicAuth`, `apiKeyAuth`, `oauth2` or `csrf` of a route above it, or turns off a rate limit, `buffer` or `extProc`. Under path policies also: a team's policy does so with any of these fields of a policy of cluster paths, on a Gateway, listener, ListenerSet or route.", "If it is not meant, remove the field, or set `kgateway.dev/inherited-policy-priority: ShallowMergePreferParent` on the parent, Gateway or ListenerSet."},
		{"OpenWithoutHeader", Warning, "An `rbac` of action Deny reads a header, or another attribute that a request may lack (`request.referer`, `connection.subject_peer_certificate`, `metadata.filter_metadata[…]`), without asking whether the request has it. For a request without it the expression fails, and does not match: the request is not denied.", "Say what is meant: `!('x-a' in request.headers) || …` denies such requests, `'x-a' in request.headers && …` does not. For attributes write `has(request.referer)`."},
		{"DeniedWithoutHeader", Warning, "An `rbac` of action Allow has a header, or another attribute that a request may lack, below `!` or `!=`, and does not ask whether the request has it. For a request without it the expression fails, and does not match: the request is denied.", "Say what is meant: `!('x-a' in request.headers) || …` lets such requests in, `'x-a' in request.headers && …` does not."},
		{"NoEffect", Warning, "The field, selector or target has no effect.", "Remove it, or change it as the hint says."},
		{"PolicyNotFound", Error, "A rule names a TrafficPolicy that does not exist. The rule answers 500.", "Create the policy, or correct the name."},
		{"TooManyPolicies", Error, "More than 64 policies of one kind are for a rule, a listener, a Service or a Backend, or more than 1,024 targetRefs and selectors of the kind name it or ask for one of its labels. It answers 500, a Service or Backend 503, as each policy may be one that protects. Of each namespace, the first is named.", "Join policies that have the same targets into one, or select by labels that fewer objects have."},
		{"SecretNotFound", Error, "The policy names a Secret that does not exist. Routes of the policy answer 500.", "Create the Secret, or correct the name."},
		{"ClientSecretInClearText", Warning, "Envoy calls the token endpoint of an identity provider (`oauth2`) through `backendRef`, and sends the client's secret there. The backend has no BackendTLSPolicy and is not on loopback, so that the secret and the tokens are clear text on the network, whatever the scheme of `tokenEndpoint`.", "Target the backend with a BackendTLSPolicy, and have it send to the port of https."},
		{"IssuerNoAnswer", Error, "The issuer of an identity provider (`oauth2.issuerURI`) was asked for its discovery document, and nothing came back that can be used. Policies that use the GatewayExtension answer 500. gatefold asks again and again.", "The message says what was asked and what came back. An issuer in a network of your own needs `gatefold serve --issuer-networks`. Or write `authorizationEndpoint` and `tokenEndpoint`."},
		{"IssuerNotAsked", Warning, "The endpoints of an identity provider come from the discovery document of its issuer (`oauth2.issuerURI`), and only `gatefold serve` asks for that. What its policies do is not known before; until there is an answer, they answer 500.", "Nothing, if `gatefold serve` runs. Or write `authorizationEndpoint` and `tokenEndpoint`."},
		{"SignInConflict", Error, "The path of a callback or a logout of an identity provider (`oauth2`) is that of another provider, or of a route, on the same host. One of the two gets no request.", "Give each GatewayExtension a `redirectURI` and a `logoutPath` of its own, which no route has."},
		{"SignInOutside", Error, "A delegated route has users sign in, and the path of the callback or the logout is outside of what its parent delegates. Users cannot finish to sign in.", "Have `redirectURI` and `logoutPath` begin with the parent's path, or attach the policy to the parent."},
		{"SignInWithoutTLS", Warning, "Users sign in on a port without TLS. Browsers drop the cookies, which are Secure, so that they are redirected again and again.", "Attach the route to an HTTPS listener. If a proxy in front speaks TLS, start gatefold with `--trusted-hops`."},
		{"TargetNotFound", Error, "The policy's target does not exist. The policy is not applied there.", "Create the target, or correct the name."},
	}
}
