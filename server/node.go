package server

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// oldestEnvoy is the oldest Envoy that is served. An older one is refused:
// it may read a compiled route table as an empty one without rejecting it.
func oldestEnvoy() xds.Release { return xds.Release{Major: 1, Minor: 37} }

// testedEnvoy is the Envoy that gatefold is tested with in full, and that has all that gatefold uses.
func testedEnvoy() xds.Release { return xds.Newest() }

// tooOld is the reason for which an Envoy of this version is refused.
func tooOld(version string) string {
	return fmt.Sprintf("Envoy %s is older than %s, the oldest version that gatefold serves; it keeps the configuration that it has: upgrade this Envoy", version, oldestEnvoy())
}

// isCanary reports whether the node says that it gets revisions first.
func isCanary(node *corev3.Node) bool {
	return node.GetMetadata().GetFields()[envoy.StageKey].GetStringValue() == envoy.Canary
}

// envoyVersion returns "1.40.0", or what the node calls itself.
func envoyVersion(request *delta.Request) string {
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
