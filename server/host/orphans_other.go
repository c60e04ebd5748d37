//go:build !linux

package host

// orphans returns nil, because host mode works only on Linux.
func orphans(string) map[string][]int { return nil }

// bootstrapOf returns "", because host mode works only on Linux.
func bootstrapOf(int) string { return "" }

// epochOf returns 0, because host mode works only on Linux.
func epochOf(int) (base, epoch int) { return 0, 0 }
