// Package plan compares two configurations and finds the requests that are answered otherwise.
//
// It compares the tables of both Views, and does not try requests by chance. The rules of a table
// are tried in order, so a request can get another answer only if its rule, before or after, is one
// that was added, removed or moved, or that does something else now (align.go). For each such rule,
// the paths of both tables fall into few classes, in each of which every path meets the same rules
// (paths.go, language.go). In each class, plan makes a request for every pair of a rule before and a
// rule after that can be the first ones to match (pairs.go). Package explain answers the request
// from both Views, and plan reports it only if the answers differ (compare.go).
package plan
