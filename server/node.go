package server

import (
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/gatefold/gatefold/envoy"
	"github.com/gatefold/gatefold/server/delta"
	"github.com/gatefold/gatefold/translate/xds"
)

// oldestEnvoy returns the oldest version of Envoy that is served. An older Envoy is refused: it may read a
// compiled route table as an empty one, without rejecting the table.
func oldestEnvoy() xds.Release { return xds.Release{Major: 1, Minor: 37} }

// testedEnvoy returns the version of Envoy that gatefold is fully tested with. It supports every feature that
// gatefold uses.
func testedEnvoy() xds.Release { return xds.Newest() }

// tooOld returns the message with which an Envoy of this version is refused.
func tooOld(version string) string {
	return fmt.Sprintf("Envoy %s is older than %s, the oldest version that gatefold serves; it keeps the configuration that it has: upgrade this Envoy", version, oldestEnvoy())
}

// proxyless returns why a client is refused that is a program with gRPC's own xDS, such as "gRPC Go", and "" for all
// others. Envoy's Listeners are nothing to it: it would wait for resources that no Gateway has.
func proxyless(node *corev3.Node) string {
	if !strings.HasPrefix(node.GetUserAgentName(), "gRPC") {
		return ""
	}
	return fmt.Sprintf("%s %s is a gRPC client, and no Envoy: gatefold configures Envoys alone. Let it call a Gateway's address instead of xds:///",
		cut(node.GetUserAgentName()), cut(node.GetUserAgentVersion()))
}

// isCanary reports whether the node's metadata has the stage "canary".
func isCanary(node *corev3.Node) bool {
	return node.GetMetadata().GetFields()[envoy.StageKey].GetStringValue() == envoy.Canary
}

// envoyVersion returns the version of the client, such as "1.40.0". Without a build version it returns the
// node's user_agent_version, which may be "".
func envoyVersion(request *delta.Request) string {
	build := request.GetNode().GetUserAgentBuildVersion().GetVersion()
	if build == nil {
		return request.GetNode().GetUserAgentVersion()
	}
	return fmt.Sprintf("%d.%d.%d", build.GetMajorNumber(), build.GetMinorNumber(), build.GetPatch())
}

// maxCluster and maxNode are the largest sizes, in bytes, of the texts of a node that are stored. maxCluster is
// for node.cluster: a longer node.cluster is an error. maxNode is for every other text: the function cut shortens
// a longer one. Real names are shorter.
const maxCluster, maxNode = 512, 256

// cut returns a copy of at most maxNode bytes of a text, without invalid UTF-8. A copy does not keep the memory
// of the whole text.
func cut(text string) string {
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), maxNode)], ""))
}
