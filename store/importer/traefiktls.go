package importer

// readTLS returns references to Secrets for the listeners, one for each certificate in the parameter parts. It
// also adds verdicts for the TLS options and TLS stores in parts. It ignores the parts that the user named in
// Options.Accept.
func readTLS(objects *traefikObjects, parts []*part) (certificates []any) {
	for _, p := range parts {
		switch {
		case p.accepted:
		case p.kind == "certificate":
			certificates = append(certificates, certificate(objects, p))
		case p.kind == "tlsOption":
			p.say(Same, "a listener of gatefold wants a certificate for the name, too", "sniStrict")
			p.say(Different, "left out: Envoy has its own lists", "cipherSuites", "curvePreferences", "alpnProtocols", "preferServerCipherSuites")
			if v := text(p.get("minVersion")); v == "VersionTLS10" || v == "VersionTLS11" || v == "VersionTLS12" {
				p.say(Different, "Envoy begins at TLS 1.2", "minVersion")
			}
			p.rest()
		case p.kind == "tlsStore":
			p.say(Refused, "left out: the certificates of listeners are Secrets")
		}
	}
	return certificates
}

// certificate chooses the name of a Secret for the certificate p, and returns a reference to this Secret for
// the listeners. Import does not read certFile and keyFile, so a verdict tells the user to write the Secret.
func certificate(objects *traefikObjects, p *part) any {
	name := objects.name("Secret", "certificate")
	p.say(Different, "listeners name the Secret "+traefikNamespace+"/"+name+": put the two files there, as tls.crt and tls.key", "certFile", "keyFile")
	p.say(Different, "all listeners have it", "stores")
	p.rest()
	return map[string]any{"name": name}
}
