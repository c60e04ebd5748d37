package cli

// plainKeys says what keys mean whose field needs no comment in the code.
func plainKeys() map[string]string {
	return map[string]string{
		"actions": "what is done to the request, in order", "added": "how many are new", "addresses": "those of the Gateway's status",
		"ancestors": "those of the status of a policy", "at": "where it is written", "backends": "where requests are sent, with their shares",
		"below": "the nodes below this one", "certificates": "the certificates", "change": "`added`, `removed`, `changed` or, of a policy, `closed`",
		"changed": "how many differ; of certificate files, when they changed", "cluster": "what it asked for: the Gateway, or nothing for all",
		"commit": "the commit that it was built from", "conditions": "as in Kubernetes", "config": "protobuf JSON, without secrets",
		"connected": "since when", "count": "how many", "differences": "what is not as the line wants", "doubts": "what the answer depends on that is not known",
		"endpoints": "the addresses", "envoy": "the version of Envoy", "errors": "how many errors there are", "expires": "when the certificate ends",
		"failed": "how many lines failed", "field": "the path inside the object, such as spec.rules[0]", "file": "the path below the folder",
		"files": "the files: how many were read, or those that were written", "first": "when for the first time", "gateway": "namespace/name of the Gateway",
		"gatewayAPI": "the version of the Gateway API", "gateways": "what is served, by Gateway", "generation": "how often the object changed",
		"go": "the version of Go", "got": "what the answer is", "group": "the API group; left out for the core group", "grpcStatus": "code and name of the status of gRPC",
		"headers": "by name, each a list of values", "healthy": "how many are healthy", "hint": "what to do", "host": "the Host header",
		"id": "the number of the stream", "items": "the objects", "kind": "the kind", "last": "when for the last time", "line": "the line, from 1 on",
		"listener": "the listener that takes the request", "listeners": "the listeners", "location": "the header of a redirect", "match": "the match in the rule, from 0 on",
		"matchAt": "where the match is written", "message": "what is wrong, or why", "metadata": "name, namespace and generation", "method": "the method of the request",
		"milliseconds": "the time that it took", "name": "the name", "names": "the names that it is for", "namespace": "the namespace", "node": "the name that the Envoy has given itself",
		"notAfter": "when it ends", "notBefore": "when it begins", "notChecked": "how many are not checked", "object": "the object", "objects": "the objects, or how many there are",
		"outcome": "what happens to the request: as the outcomes of explain", "parent": "the parent that did not accept it", "parents": "those of the status of a route",
		"passed": "how many lines passed", "path": "the path", "peer": "the address that it connects from", "percent": "its share of the requests", "phase": "what it is doing",
		"places": "in the order of the question", "port": "the port", "problems": "the problems", "reached": "how many of the rules a line reaches", "reason": "why",
		"rejected": "what was rejected", "removed": "how many are gone", "request": "the request that was asked about", "resources": "the resources",
		"rule": "the rule in the object, from 0 on", "ruleAt": "where the rule is written", "rules": "how many rules there are", "scheme": "http, https, tcp, tls or udp",
		"severity": "error or warning", "skipped": "how many lines were skipped", "state": "how much of the policy is in force", "status": "the status",
		"streams": "the streams of Envoys", "text": "one line", "times": "how often", "unknown": "how many answers are not known", "url": "the URL",
		"verdict": "the result of the line, or what became of the field", "verdicts": "what became of each object and field", "version": "the version", "want": "what the line wants",
		"warnings": "how many warnings there are", "weight": "as written", "what": "what differs, in words", "words": "what the Envoy said",
	}
}
