// Package plan compares two configurations and finds the requests that are answered differently.
//
// It compares the tables of both Views, and does not try random requests. The rules of a table are tried in
// order. So a request can get another answer only if the first rule that matches it was added, removed, moved,
// or changed (align.go). For each such rule, the paths of both tables are divided into a few classes. All paths
// of a class match the same rules (paths.go, language.go). In each class, plan looks at every pair of a rule
// before and a rule after that one request can meet first, and makes a request for the pair (pairs.go). Package
// explain answers the request from both Views. If the answers differ, plan reports a changed request; if not, a
// request with different handling (Report.Handling).
package plan
