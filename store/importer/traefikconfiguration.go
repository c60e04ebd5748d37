package importer

import (
	"fmt"
	"reflect"
	"slices"
)

// configuration is the dynamic configuration of Traefik from all input files, as parts: routers, services,
// middlewares and other named entries (see part).
type configuration struct {
	*report
	byID    map[string]*part // by KIND/NAME
	ordered []*part          // in the order of the files, without duplicates
}

// find returns the entry of the configuration with a kind and name, such as router and web. It returns nil if
// there is no such entry.
func (c *configuration) find(kind, name string) *part { return c.byID[kind+"/"+name] }

// partKinds returns the kinds of the named entries in Traefik's configuration. The key is the path of the
// section, such as http.routers, and the value is the kind, such as router.
func partKinds() map[string]string {
	return map[string]string{
		"http.routers": "router", "http.services": "service", "http.middlewares": "middleware", "http.serversTransports": "serversTransport",
		"tcp.routers": "tcpRouter", "tcp.services": "tcpService", "tcp.middlewares": "tcpMiddleware", "tcp.serversTransports": "tcpServersTransport",
		"udp.routers": "udpRouter", "udp.services": "udpService", "tls.options": "tlsOption", "tls.stores": "tlsStore",
	}
}

// readDocument adds the routers, services, middlewares and other entries of one document. Content that import
// does not know blocks the import, because it may protect requests.
func (c *configuration) readDocument(in Input) {
	at := in.at("")
	document, ok := in.Value.(map[string]any)
	if !ok && in.Value != nil {
		c.block(at, "", "the document is no dynamic configuration of Traefik", "remove the document")
		return
	}
	for _, top := range sortedKeys(document) {
		below, isMap := document[top].(map[string]any)
		switch {
		case document[top] == nil:
			c.add(Same, at, "", "it says nothing", top)
			continue
		case !slices.Contains([]string{"http", "tcp", "udp", "tls"}, top) || !isMap:
			c.block(at, "", "import does not know it, nor what it protects", "give import the dynamic configuration alone, without the static one", top)
			continue
		case len(below) == 0:
			c.add(Same, at, "", "it says nothing", top)
		}
		for _, section := range sortedKeys(below) {
			c.readSection(at, top+"."+section, below[section])
		}
	}
}

// readSection adds the entries of one section. The parameter field is the path of the section, such as
// http.routers. The parameter value is the content of the section. Content that import does not know blocks the
// import.
func (c *configuration) readSection(at place, field string, value any) {
	kind := partKinds()[field]
	entries, isMap := value.(map[string]any)
	if field == "tls.certificates" {
		for i, entry := range list(value) {
			c.keep(&part{report: c.report, kind: "certificate", name: fmt.Sprint(len(c.ordered)), place: at.below(fmt.Sprintf("%s[%d]", field, i)), value: entry})
			c.add(Same, at, "", "read as certificate/"+c.ordered[len(c.ordered)-1].name, fmt.Sprintf("%s[%d]", field, i))
		}
		if list(value) != nil {
			return
		}
	}
	switch {
	case value == nil || isMap && len(entries) == 0 && kind != "":
		c.add(Same, at, "", "it says nothing", field)
	case kind == "" || !isMap:
		c.block(at, "", "import does not know it, nor what it protects", "remove it from the input", field)
	default:
		for _, name := range sortedKeys(entries) {
			c.keep(&part{report: c.report, kind: kind, name: name, place: at.below(join(field, name)), value: entries[name]})
		}
	}
}

// keep adds an entry, such as a router, to the configuration. If the configuration has an entry with the same
// kind and name, the new entry is ignored if both are equal; if they differ, the import is blocked.
func (c *configuration) keep(p *part) {
	if same := c.byID[p.id()]; same != nil {
		if !reflect.DeepEqual(same.value, p.value) {
			c.block(p.place, p.id(), "it is there twice, and differs", "remove one of the two")
		}
		return
	}
	c.byID[p.id()] = p
	c.ordered = append(c.ordered, p)
}

// acceptPart leaves out an entry of Traefik's configuration, such as a router, if options.Accept names the entry:
// the user has accepted that it is lost. If options.Accept names only fields of the entry, acceptPart removes only
// these fields.
func acceptPart(accept *acceptance, p *part) {
	if accept.contains(p.id()) {
		p.accepted = true
		p.say(Different, "left out, as --accept says")
		return
	}
	for _, entry := range accept.entries {
		accept.leaveField(entry, p.place, p.id(), p.value)
	}
}
