package importer

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Traefik imports the dynamic configuration of Traefik's file provider, version 2 or 3. Verdicts name its
// routers and services router/NAME and service/NAME. It returns an error only if the schemas cannot be loaded.
func Traefik(inputs []Input, options Options) (*Objects, error) {
	o, err := newObjects(nil, options)
	if err != nil {
		return nil, err
	}
	t := &traefik{Objects: o, parts: map[string]*part{}, names: map[string]bool{}, backends: map[string]*backends{}, effects: map[string]*effect{}}
	for _, in := range inputs {
		t.readDocument(in)
	}
	for _, p := range t.ordered {
		t.acceptPart(p)
		t.respell(p)
	}
	t.readTLS()
	t.readConnections()
	t.readRouters()
	t.write()
	for _, p := range t.ordered {
		t.unused(p)
	}
	o.finish()
	return o, nil
}

// traefik collects the content of the files.
type traefik struct {
	*Objects
	parts    map[string]*part // by KIND/NAME
	ordered  []*part
	names    map[string]bool // names of objects in use, as KIND/NAME
	backends map[string]*backends
	effects  map[string]*effect
	routers  []*router
	// closedTLS is the reason why routers with TLS and the default options answer 500, "" if they do not.
	closedTLS    string
	certificates []any // references to Secrets
}

// part is a router, a service, a middleware or another entry of the configuration.
type part struct {
	kind, name string
	place      place
	value      any
	told       []string // fields with a verdict; "*" for the whole part
	accepted   bool
	closed     string // the reason why routers that use it answer 500, "" if they do not
}

// id returns KIND/NAME, as in Verdict.Object.
func (p *part) id() string { return p.kind + "/" + p.name }

// get returns the value of a field. It returns nil if there is none.
func (p *part) get(field string) any {
	value, _ := lookup(p.value, parse(field))
	return value
}

// partKinds returns the kinds of parts by their path in the file.
func partKinds() map[string]string {
	return map[string]string{
		"http.routers": "router", "http.services": "service", "http.middlewares": "middleware", "http.serversTransports": "serversTransport",
		"tcp.routers": "tcpRouter", "tcp.services": "tcpService", "tcp.middlewares": "tcpMiddleware", "tcp.serversTransports": "tcpServersTransport",
		"udp.routers": "udpRouter", "udp.services": "udpService", "tls.options": "tlsOption", "tls.stores": "tlsStore",
	}
}

// readDocument adds the parts of a document. Content that import does not know blocks the import.
func (t *traefik) readDocument(in Input) {
	at := place{in.File, in.Line}
	document, ok := in.Value.(map[string]any)
	if !ok && in.Value != nil {
		t.block(at, "", "the document is no dynamic configuration of Traefik", "remove the document")
		return
	}
	for _, top := range sortedKeys(document) {
		below, isMap := document[top].(map[string]any)
		switch {
		case document[top] == nil:
			t.add(Same, at, "", "it says nothing", top)
			continue
		case !slices.Contains([]string{"http", "tcp", "udp", "tls"}, top) || !isMap:
			t.block(at, "", "import does not know it, nor what it protects", "give import the dynamic configuration alone, without the static one", top)
			continue
		case len(below) == 0:
			t.add(Same, at, "", "it says nothing", top)
		}
		for _, section := range sortedKeys(below) {
			t.readSection(at, top+"."+section, below[section])
		}
	}
}

// readSection adds the parts of one section, such as http.routers. Content that import does not know blocks the
// import.
func (t *traefik) readSection(at place, field string, value any) {
	kind := partKinds()[field]
	entries, isMap := value.(map[string]any)
	if field == "tls.certificates" {
		for i, entry := range list(value) {
			t.keep(&part{kind: "certificate", name: fmt.Sprint(len(t.ordered)), place: at, value: entry})
			t.add(Same, at, "", "read as certificate/"+t.ordered[len(t.ordered)-1].name, fmt.Sprintf("%s[%d]", field, i))
		}
		if list(value) != nil {
			return
		}
	}
	switch {
	case value == nil || isMap && len(entries) == 0 && kind != "":
		t.add(Same, at, "", "it says nothing", field)
	case kind == "" || !isMap:
		t.block(at, "", "import does not know it, nor what it protects", "remove it from the input", field)
	default:
		for _, name := range sortedKeys(entries) {
			t.keep(&part{kind: kind, name: name, place: at, value: entries[name]})
		}
	}
}

// keep adds a part. A second part with the same name is ignored if it has the same value, and blocks the import
// if not.
func (t *traefik) keep(p *part) {
	if same := t.parts[p.id()]; same != nil {
		if !reflect.DeepEqual(same.value, p.value) {
			t.block(p.place, p.id(), "it is there twice, and differs", "remove one of the two")
		}
		return
	}
	t.parts[p.id()] = p
	t.ordered = append(t.ordered, p)
}

// acceptPart leaves out a part, or the fields of a part, that options.Accept names.
func (t *traefik) acceptPart(p *part) {
	if t.accept.contains(p.id()) {
		p.accepted = true
		t.say(p, Different, "left out, as --accept says")
		return
	}
	for _, entry := range t.accept.entries {
		t.accept.leaveField(entry, p.place, p.id(), p.value)
	}
}

// say adds a verdict about the given fields of a part. It leaves out fields that do not exist, and adds no
// verdict if none exists. Without any fields, the verdict is about the whole part.
func (t *traefik) say(p *part, class Class, message string, fields ...string) {
	var there []string
	for _, field := range fields {
		if value := p.get(field); value != nil || field == "" {
			there = append(there, field)
		}
	}
	if len(there) > 0 || len(fields) == 0 {
		t.add(class, p.place, p.id(), message, there...)
		p.told = append(p.told, there...)
		if len(fields) == 0 {
			p.told = append(p.told, "*")
		}
	}
}

// failClosed makes routers answer 500 if they use the part p, because fields of p cannot be expressed. message
// is the reason.
func (t *traefik) failClosed(p *part, message, hint string, fields ...string) {
	reason := p.id()
	if len(fields) > 0 {
		reason += "/" + fields[0]
	}
	p.closed = cmp.Or(p.closed, reason)
	if reason = removable(reason); p.kind == "router" {
		reason = p.id() // without the field, the router would lose protection, or match other requests
	}
	t.protecting(p.place, p.id(), "what needs it answers 500: "+message, cmp.Or(hint, "write it in another way, or leave it out with --accept "+reason), fields...)
	p.told = append(p.told, fields...)
}

// rest adds a verdict for each field of a part that has no verdict yet. A field that is null is reported as
// Same. Any other field makes the routers that use the part answer 500.
func (t *traefik) rest(p *part) {
	var unknown []string
	Leaves(p.value, func(leaf string, value any) {
		told := slices.ContainsFunc(p.told, func(field string) bool { return field == "*" || within(leaf, field) })
		switch {
		case told:
		case value == nil && leaf != "":
			t.say(p, Same, "it says nothing", leaf)
			t.add(Same, p.place, p.id(), "it says nothing", leaf)
		default:
			unknown = append(unknown, leaf)
		}
	})
	if len(unknown) == 1 && unknown[0] == "" {
		t.failClosed(p, "it says nothing that import knows", "")
		p.told = append(p.told, "*")
	} else if len(unknown) > 0 {
		t.failClosed(p, "import does not know it, nor what it protects", "", unknown...)
	}
}

// unused adds a verdict to a part that no router uses.
func (t *traefik) unused(p *part) {
	if len(p.told) == 0 && !p.accepted {
		t.say(p, Same, "left out: no router needs it")
	}
}

// number returns the number in a value that is a number or a text. ok is false for other values.
func number(value any) (n int64, ok bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// yes reports whether a value is true, in any of Traefik's spellings.
func yes(value any) bool {
	on, _ := strconv.ParseBool(fmt.Sprint(value))
	return on
}

// objectName returns a name for an object of a kind. The name is similar to wanted, and no other object has it.
func (t *traefik) objectName(kind, wanted string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, wanted)
	if len(plain) > 50 {
		plain = plain[:50]
	}
	plain = cmp.Or(strings.Trim(plain, "-"), "unnamed")
	name := plain
	for i := 2; t.names[kind+"/"+name]; i++ {
		name = fmt.Sprintf("%s-%d", plain, i)
	}
	t.names[kind+"/"+name] = true
	return name
}

// local returns a name without the suffix of the file provider. ok is false for names of other providers.
func local(name string) (plain string, ok bool) {
	plain, provider, found := strings.Cut(name, "@")
	return plain, !found || provider == "file"
}
