package server

import (
	"fmt"
	"strings"
)

// oldestMajor and oldestMinor are of the oldest Envoy that gatefold is tested with.
const oldestMajor, oldestMinor = 1, 40

// tooOld tells that an Envoy is older than that; one that does not tell its
// version is given the benefit of the doubt.
func tooOld(version string) bool { return olderThan(version, oldestMajor, oldestMinor) }

// olderThan compares a version that an Envoy tells; false when it tells none.
func olderThan(version string, thanMajor, thanMinor int) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 {
		return false
	}
	return major < thanMajor || major == thanMajor && minor < thanMinor
}

// tellOld says that an Envoy is older than gatefold supports. It is served: what
// it cannot do it rejects, and a route that it rejects is closed on it alone (see
// search.go), which holds for every way in which Envoys differ, whatever they say
// of themselves in node.extensions.
func (s *Server) tellOld(st *stream) {
	if !tooOld(st.version) {
		return
	}
	s.metrics.old.Inc()
	s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("envoy", st.version).
		Msgf("an Envoy is older than %d.%d, which gatefold supports: it is served, and routes that it rejects answer 500 there", oldestMajor, oldestMinor)
	if !readsTrees(st.version) {
		s.log.Warn().Str("node", st.node).Str("cluster", st.cluster).Str("envoy", st.version).
			Msgf("an Envoy older than %d.%d cannot read compiled route tables: it is given linear ones, in which it tries route by route", treesMajor, treesMinor)
	}
}

// envoyVersion gives "1.40.0", or what the node calls itself.
func envoyVersion(request *deltaRequest) string {
	build := request.GetNode().GetUserAgentBuildVersion().GetVersion()
	if build == nil {
		return request.GetNode().GetUserAgentVersion()
	}
	return fmt.Sprintf("%d.%d.%d", build.GetMajorNumber(), build.GetMinorNumber(), build.GetPatch())
}

// What is kept of what an Envoy says of itself, in bytes: the names of a Gateway,
// and of an Envoy, are shorter.
const maxCluster, maxNode = 512, 256

// cut copies what is kept of a text, so that none of the rest is.
func cut(text string) string {
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), maxNode)], ""))
}
