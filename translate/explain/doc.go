// Package explain answers for one request what Envoy does with it and why. It
// reads the tables that were translated, not Envoy, and compares as Envoy 1.40
// compares; a test sends the same requests to a real one.
package explain
