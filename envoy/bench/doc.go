// Package bench measures the built gatefold with a real Envoy: from the rename of a file until Envoy has the
// new bytes and clients get the new answers. It contains only tests. The command `make bench` runs them and
// prints a table, which is kept in BENCHMARKS.md.
//
// Times on a shared machine are not exact. So each figure is compared with a floor that the same run measures
// in turn with the figure. Only the ratio of the two is promised. The floors are:
//
//   - of an edit and a start: a process that does the least that any such server must do (floor_linux_test.go)
//   - of the time that Envoy needs: a program that only sends the same bytes (sender_linux_test.go)
//   - of a lookup: a table of ten routes
//
// The table also has the CPU time of the process, or of Envoy's worker thread. Other programs disturb it least.
//
// The command `go test` runs the same measurements with small sizes. They prove no figure, but show that
// everything works and that the table is complete.
package bench
