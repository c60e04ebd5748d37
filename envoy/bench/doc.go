// Package bench measures gatefold as its users meet it: the built program beside a real
// Envoy, from a file's rename to the bytes and the answers that come of it. It is tests
// alone; `make bench` runs them and prints one table, which BENCHMARKS.md keeps.
//
// Times on a shared machine say little. So each figure is compared with a floor that is
// measured in the same run, in turn with it, and the ratio is what is promised: for an
// edit and a start, a process that does the least that any such server must (floor.go,
// parse.go); for what Envoy takes, a bare sender of the same bytes (sender.go); for a
// lookup, a table of ten routes. CPU time, of the process or of Envoy's worker thread,
// stands beside each time, as it is disturbed least.
//
// `go test` runs the same at a size that proves no figure but shows that every part works
// and that the table is complete.
package bench
