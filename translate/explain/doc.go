// Package explain says what Envoy does with one request, or with one connection, and why. It reads the
// translated configuration (ir.View), and does what Envoy 1.40 does. It shares no code with package xds: it is
// a second model of Envoy, and tests send the same requests to a real Envoy.
//
//   - Request returns the Answer from a View alone. Explain makes a Report of it, with the places, policies and
//     problems of the objects that lead to the answer.
//   - The order is Envoy's. First, the connection manager reads the request (manager.go, localreply.go,
//     normalize.go). Then a rule matches (match.go, comparer.go), and the filters of policies run
//     (policy.go, service.go). Last are the rule's action (action.go) and the host and headers that a backend
//     receives (sent.go). outcome.go joins the filters, the action and the headers.
//   - field.go has a row for each field of TrafficPolicies. filter.go has the functions for each filter of a
//     rule.
//   - reporter.go is the base of each Report. Each section of a Report has a file that uses reporter.go, and
//     explain.go calls these files. No file uses explain.go.
//   - A value that a query lacks, such as the client's address, is replaced by a placeholder (unknown.go). If
//     the outcome depends on such a value, the answer is the likely one, and Unless says what else may happen.
//   - Every search is bounded: queries and rules may come from a hostile author.
package explain
