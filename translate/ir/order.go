package ir

// TrueFirst compares two booleans as cmp.Compare does: true comes before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
