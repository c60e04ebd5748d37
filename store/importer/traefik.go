package importer

// Traefik imports the dynamic configuration of Traefik's file provider, version 2 or 3. In verdicts, the name of an
// object has the form KIND/NAME, for example "router/shop" or "service/shop". Traefik returns an error only if the
// schemas cannot be loaded.
func Traefik(inputs []Input, options Options) (*Objects, error) {
	o, err := newObjects(nil, options)
	if err != nil {
		return nil, err
	}
	parts := &configuration{report: o.report, byID: map[string]*part{}}
	for _, in := range inputs {
		parts.readDocument(in)
	}
	for _, p := range parts.ordered {
		acceptPart(o.accept, p)
		p.respell()
	}
	objects := &traefikObjects{collection: o.objects, names: map[string]bool{}}
	certificates := readTLS(objects, parts.ordered)
	readConnections(parts.ordered)
	r := &routerReader{
		parts:       parts,
		points:      options.EntryPoints,
		middlewares: &middlewareReader{parts: parts, objects: objects, effects: map[string]*effect{}},
		services:    &serviceReader{parts: parts, objects: objects, backends: map[string]*backends{}},
	}
	r.read()
	w := &traefikWriter{report: o.report, objects: objects, points: options.EntryPoints, routers: r.routers, certificates: certificates}
	w.write()
	for _, p := range parts.ordered {
		p.unused()
	}
	o.finish()
	return o, nil
}
