package ir

// TrueFirst compares two booleans for sorting: true comes before false. It returns -1, 0 or 1, as cmp.Compare
// does.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
