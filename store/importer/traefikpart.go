package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// part is a named entry of Traefik's dynamic configuration, such as a router, a service or a middleware.
type part struct {
	report     *report
	kind, name string
	place      place
	value      any
	told       []string // the fields that have a verdict; "*" if the whole part has one
	accepted   bool     // Options.Accept names the part
	closed     string   // the field because of which routers that use the part answer 500; "" if they do not
	closedWhy  string   // the same as a sentence, for the written file
}

// id returns KIND/NAME, as in Verdict.Object.
func (p *part) id() string { return p.kind + "/" + p.name }

// get returns the value of a field. It returns nil if there is none.
func (p *part) get(field string) any {
	value, _ := lookup(p.value, parse(field))
	return value
}

// add adds a verdict about the given fields of an entry of Traefik's configuration, such as a router. Without fields,
// the verdict is about the whole entry. add does not mark the fields as handled, so the method "rest" may add a
// second verdict for them. To add a verdict and also mark the fields, call the method "say".
func (p *part) add(class Class, message string, fields ...string) *Verdict {
	return p.report.add(class, p.place, p.id(), message, fields...)
}

// say adds a verdict about the given fields of an entry of Traefik's configuration, such as a router. It also
// records that these fields have a verdict, so that the method rest does not add a second verdict for them. Fields
// that do not exist are ignored; if none exists, there is no verdict. Without fields, the verdict is about the whole
// entry.
func (p *part) say(class Class, message string, fields ...string) {
	var there []string
	for _, field := range fields {
		if value := p.get(field); value != nil || field == "" {
			there = append(there, field)
		}
	}
	if len(there) > 0 || len(fields) == 0 {
		p.add(class, message, there...)
		p.told = append(p.told, there...)
		if len(fields) == 0 {
			p.told = append(p.told, "*")
		}
	}
}

// failClosed makes every router that uses p answer 500, because import cannot express the given fields of p.
// The part p is a middleware, a service or the router itself, for example. The parameter message is the reason.
// The parameter hint says what the user can do; if it is "", failClosed writes a general hint.
func (p *part) failClosed(message, hint string, fields ...string) {
	reason := p.id()
	if len(fields) > 0 {
		reason += "/" + fields[0]
	}
	p.closed = cmp.Or(p.closed, reason)
	p.closedWhy = cmp.Or(p.closedWhy, reason+": "+message)
	if reason = removable(reason); p.kind == "router" {
		reason = p.id() // without the field, the router would lose protection, or match other requests
	}
	p.report.protecting(p.place, p.id(), "what needs it answers 500: "+message, cmp.Or(hint, "write it in another way, or leave it out with --accept "+reason), fields...)
	p.told = append(p.told, fields...)
}

// rest adds a verdict for each field of an entry of Traefik's configuration, such as a router, that has no
// verdict yet. A field that is null gets the verdict Same. Any other such field is unknown to import, and makes
// the routers that use the entry answer 500.
func (p *part) rest() {
	var unknown []string
	Leaves(p.value, func(leaf string, value any) {
		told := slices.ContainsFunc(p.told, func(field string) bool { return field == "*" || within(leaf, field) })
		switch {
		case told:
		case value == nil && leaf != "":
			p.say(Same, "it says nothing", leaf)
			p.add(Same, "it says nothing", leaf)
		default:
			unknown = append(unknown, leaf)
		}
	})
	if len(unknown) == 1 && unknown[0] == "" {
		p.failClosed("it says nothing that import knows", "")
		p.told = append(p.told, "*")
	} else if len(unknown) > 0 {
		p.failClosed("import does not know it, nor what it protects", "", unknown...)
	}
}

// wantList makes the routers that use p answer 500 if the value of the field is not a list. A field that is not
// set is allowed.
func (p *part) wantList(field string) {
	if value := p.get(field); value != nil && list(value) == nil {
		p.failClosed("it is no list", "", field)
	}
}

// unused adds the verdict Same for an entry of Traefik's configuration, such as a service, that no router uses.
func (p *part) unused() {
	if len(p.told) == 0 && !p.accepted {
		p.say(Same, "left out: no router needs it")
	}
}

// number returns a value that is an integer, or a text with an integer, as a number. ok is false for other values.
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

// local returns the name of a middleware or service without the suffix @file of Traefik's file provider. ok is
// false if the suffix names another provider.
func local(name string) (plain string, ok bool) {
	plain, provider, found := strings.Cut(name, "@")
	return plain, !found || provider == "file"
}
