// Package plan compares two configurations and finds the requests that are answered differently.
//
// For each host, it compares the rules of one View with the rules of the other. It does not try random
// requests. Envoy tries the rules of a host in order. So a request can get another answer only if the first
// rule that matches it was added, removed, moved, or changed (align.go). For each of these rules, the paths of
// all rules of the host are divided into a few classes. All paths of a class match the same rules (paths.go,
// language.go). In each class, plan looks at pairs of a rule before and a rule after. For each pair that can be
// the first to match one request, plan makes a request (pairs.go). Package explain answers the request from
// both Views. If the answers differ, plan reports a changed request; if not, a request with different handling
// (Report.Handling).
package plan
