// Package differ holds a test: what explain answers about random requests to random
// folders is what a real Envoy does with them. TestExplainIsWhatEnvoyDoes has the rest.
package differ
