package manifest

import "strings"

// longestMisspelt is the length in bytes up to which Nearest compares a name.
const longestMisspelt = 60

// Nearest returns the candidate that is most similar to name, ignoring case (see Distance). A candidate counts
// only if it differs from name in one letter, or in at most a third of the letters of the shorter of the two.
// If none counts, or if name is longer than 60 bytes, Nearest returns "".
func Nearest(name string, candidates []string) string {
	if len(name) > longestMisspelt {
		return ""
	}
	best, least := "", 0
	name = strings.ToLower(name)
	for _, candidate := range candidates {
		d := Distance(name, strings.ToLower(candidate))
		if d <= max(1, min(len(name), len(candidate))/3) && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best
}

// Distance returns the smallest number of changes that turn a into b. A change inserts, removes or replaces a
// byte, or swaps two adjacent bytes. Distance returns 100 if a or b is longer than 100 bytes.
func Distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	var before []int // the row before last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
