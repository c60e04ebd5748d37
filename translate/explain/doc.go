// Package explain answers for one request, or one connection, what Envoy does with it and
// why. It reads the tables that were translated (ir.View), and does what Envoy 1.40 does. It
// shares no code with package xds: it is a second model of Envoy, and tests send the same
// requests to a real one.
//
//   - Request returns the Answer from a View alone. Explain makes a Report of it, with the
//     places, policies and problems of the objects on the way.
//   - The order is Envoy's: what the connection manager does (manager.go, localreply.go,
//     normalize.go), the rule that matches (match.go), the filters of policies (policy.go,
//     service.go), the action (action.go), and the headers that a backend receives (sent.go);
//     outcome.go joins the last three.
//   - field.go has a row for each field of TrafficPolicies, filter.go what belongs to each
//     filter of a rule.
//   - reporter.go is the base of each Report, and a file for each of its sections lies above;
//     explain.go calls them. No file names what is in a file above it.
//   - What a question does not say, such as the client's address, is marked (unknown.go). Where
//     the outcome depends on it, the answer is the likely one, and Unless says what else may
//     happen.
//   - Every search is bounded: questions and rules may come from a hostile author.
package explain
