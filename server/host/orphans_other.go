//go:build !linux

package host

// orphans finds none: host mode is for Linux.
func orphans(string) map[string][]int { return nil }

// bootstrapOf returns "": no process is known to have been started with a bootstrap.
func bootstrapOf(int) string { return "" }

// epochOf returns 0: no process is known to be an Envoy.
func epochOf(int) (base, epoch int) { return 0, 0 }
