//go:build !linux

package host

// orphans finds none: host mode is for Linux.
func orphans(string) map[string][]int { return nil }
