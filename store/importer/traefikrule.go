package importer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store/counted"
)

const (
	maxConditions = 32 // of one rule
	maxRuleDepth  = 32
)

// condition is a set of requirements that a request must meet together, made from the rule of a Traefik router.
// A request meets the rule if it meets one of the rule's conditions.
type condition struct {
	hosts   []string // any of these, maybe *.NAME; empty means every host
	kind    pathKind
	path    string
	method  string
	headers []pair
	queries []pair
	// wide is true if the condition admits more requests than the rule, because a route cannot express all
	// requirements. The router of the condition then answers 500.
	wide bool
}

// pair is a required header or query parameter: its name, and its value or a regular expression for the value.
type pair struct {
	name, value string
	regex       bool
}

// pathKind is how a path is compared.
type pathKind int

const (
	anyPath    pathKind = iota
	exactPath           // the whole path is equal
	textPrefix          // the path begins with the text, as in Traefik: /foo also matches /foobar
	regexPath           // a part of the path matches the expression
)

// readRule parses a rule of Traefik, version 2 or 3. It returns at most maxConditions alternative conditions. If a
// route cannot express a requirement of the rule, each condition with this requirement is wide (condition.wide).
// readRule returns an error if the syntax or a hostname is invalid, or if there are too many alternatives or
// brackets.
func readRule(rule string) ([]condition, error) {
	p := &ruleParser{rest: rule}
	all, err := p.either(0)
	if err == nil {
		p.space()
		if p.rest != "" {
			err = fmt.Errorf("unexpected text %q", p.rest)
		}
	}
	return all, err
}

// ruleParser parses a rule. rest is the text that is not parsed yet.
type ruleParser struct{ rest string }

// space skips white space.
func (p *ruleParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take removes word from the beginning of the remaining text, after white space, and returns true. If the text
// does not begin with word, take returns false, and removes only the white space.
func (p *ruleParser) take(word string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, word)
	if ok {
		p.rest = rest
	}
	return ok
}

var errManyConditions = fmt.Errorf("it has more than %d alternatives", maxConditions)

// either parses alternatives that are joined by "||", and returns the conditions of all alternatives. The
// parameter depth counts the brackets and negations around the text. either returns an error if the syntax or a
// hostname is invalid, or if a limit is exceeded.
func (p *ruleParser) either(depth int) ([]condition, error) {
	all, err := p.both(depth)
	for err == nil && p.take("||") {
		var more []condition
		more, err = p.both(depth)
		if all = append(all, more...); len(all) > maxConditions {
			return nil, errManyConditions
		}
	}
	return all, err
}

// both parses requirements that are joined by "&&". It returns conditions that each combine one alternative of
// every requirement. Combinations that no request can meet are left out. It returns the same errors as the method
// either.
func (p *ruleParser) both(depth int) ([]condition, error) {
	all, err := p.one(depth)
	for err == nil && p.take("&&") {
		var more []condition
		if more, err = p.one(depth); err != nil {
			break
		}
		if len(all)*len(more) > maxConditions {
			return nil, errManyConditions
		}
		var joined []condition
		for _, a := range all {
			for _, b := range more {
				if c, ok := a.and(b); ok {
					joined = append(joined, c)
				}
			}
		}
		all = joined
	}
	return all, err
}

// one parses a negation, an expression in brackets, or a matcher. No route can express a negation. So a negation
// becomes a wide condition, which admits more requests than the rule. A router with a wide condition answers 500
// (see router.readMatch), so that no request gets past the rule. The method one returns the same errors as the
// method either.
func (p *ruleParser) one(depth int) ([]condition, error) {
	if depth > maxRuleDepth {
		return nil, errors.New("it has too many brackets")
	}
	switch {
	case p.take("!"):
		_, err := p.one(depth + 1)
		return []condition{{wide: true}}, err
	case p.take("("):
		all, err := p.either(depth + 1)
		if err == nil && !p.take(")") {
			err = errors.New("a bracket is not closed")
		}
		return all, err
	}
	return p.matcher()
}

// matcher parses one Traefik matcher, such as Host(`example.com`). A request meets the matcher if it meets one
// of the returned conditions. matcher returns an error if the syntax or a hostname is invalid.
func (p *ruleParser) matcher() ([]condition, error) {
	p.space()
	end := strings.IndexFunc(p.rest, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if end <= 0 {
		return nil, fmt.Errorf("no matcher at %q", p.rest)
	}
	name := p.rest[:end]
	p.rest = p.rest[end:]
	if !p.take("(") {
		return nil, fmt.Errorf("no bracket behind %s", name)
	}
	var args []string
	for {
		arg, err := p.quoted()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if p.take(")") {
			return matcher(strings.ToLower(name), args)
		}
		if !p.take(",") {
			return nil, fmt.Errorf("no bracket closes %s", name)
		}
	}
}

// quoted parses the next text in backticks or double quotes, and returns the text without the quotes. In double
// quotes, \" and \\ are escapes. It returns an error if there is no such text, or if the text has another escape.
func (p *ruleParser) quoted() (string, error) {
	if p.take("`") {
		text, rest, ok := strings.Cut(p.rest, "`")
		if !ok {
			return "", errors.New("a text is not closed")
		}
		p.rest = rest
		return text, nil
	}
	if !p.take(`"`) {
		return "", fmt.Errorf("no text in quotes at %q", p.rest)
	}
	var text strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return text.String(), nil
		case c == '\\' && i+1 < len(p.rest) && (p.rest[i+1] == '"' || p.rest[i+1] == '\\'):
			i++
			text.WriteByte(p.rest[i])
		case c == '\\':
			return "", errors.New(`a \ in quotes that is not before " or \`)
		default:
			text.WriteByte(c)
		}
	}
	return "", errors.New("a text is not closed")
}

// matcher returns the conditions of a Traefik matcher, as alternatives. The matcher is given by its name in
// lower case, and by its arguments. Several arguments are alternatives, too, except for headers and query
// parameters. For an unknown matcher, or an argument that a route cannot express, the result has a wide condition:
// it admits more requests than the matcher. The error is that a host is not a DNS name.
func matcher(name string, args []string) ([]condition, error) {
	each := func(of func(arg string) condition) []condition {
		var all []condition
		for _, arg := range args {
			all = append(all, of(arg))
		}
		return all
	}
	switch name {
	case "host", "hostheader":
		var hosts []string
		for _, arg := range args {
			host := strings.ToLower(arg)
			if len(validation.IsDNS1123Subdomain(host)) > 0 {
				return nil, fmt.Errorf("the host %q is no DNS name", arg)
			}
			hosts = append(hosts, host)
		}
		return []condition{{hosts: hosts}}, nil
	case "hostregexp":
		return each(hostRegexp), nil
	case "path":
		return each(func(arg string) condition { return pathCondition(exactPath, arg) }), nil
	case "pathprefix":
		return each(func(arg string) condition { return pathCondition(textPrefix, arg) }), nil
	case "pathregexp":
		return each(func(arg string) condition {
			if _, err := counted.ParseRegex(arg); err != nil {
				return condition{wide: true}
			}
			return condition{kind: regexPath, path: arg}
		}), nil
	case "method":
		return each(func(arg string) condition {
			if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}, strings.ToUpper(arg)) {
				return condition{wide: true}
			}
			return condition{method: strings.ToUpper(arg)}
		}), nil
	case "header", "headers", "headerregexp", "headersregexp":
		return []condition{headerCondition(args, strings.HasSuffix(name, "regexp"))}, nil
	case "query":
		return queryConditions(args), nil
	}
	// ClientIP, QueryRegexp, HostSNI, and unknown matchers.
	return []condition{{wide: true}}, nil
}

var (
	plainPath = regexp.MustCompile(`^/[A-Za-z0-9._~!$&'()*+,;=:@/-]*$`)
	dotPath   = regexp.MustCompile(`//|/\.{1,2}(/|$)`)
	// hostTail matches an expression for hosts with a fixed end: {name:.+}.example.com of version 2, or
	// ^.+\.example\.com$ of version 3.
	hostTail = regexp.MustCompile(`^(?:\{[^{}:]*(?::(.*))?\}|(.*?))\.([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)$`)
)

// pathCondition returns the condition for a path of the given kind. If a route cannot express the path, the
// condition is wide: it admits more requests, and its router answers 500.
func pathCondition(kind pathKind, path string) condition {
	if before, _, ok := strings.Cut(path, "{"); ok && before != "" {
		c := pathCondition(textPrefix, before) // in version 2, regular expressions in a path are in braces
		c.wide = true
		return c
	}
	if !plainPath.MatchString(path) || dotPath.MatchString(path) || len(path) > 900 {
		return condition{wide: true}
	}
	if kind == textPrefix && path == "/" {
		return condition{}
	}
	return condition{kind: kind, path: path}
}

// hostRegexp returns the condition for a regular expression of hostnames. The condition is for every host, or
// for *.NAME if the expression ends with a fixed name. If the expression requires more than that, the condition
// is wide: it admits more requests, and its router answers 500.
func hostRegexp(expression string) condition {
	inner := expression
	if name, rest, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(inner, "{"), "}"), ":"); ok && inner == "{"+name+":"+rest+"}" {
		inner = rest
	}
	inner = strings.TrimSuffix(strings.TrimPrefix(inner, "^"), "$")
	if inner == ".+" || inner == ".*" {
		return condition{}
	}
	anchored := strings.HasSuffix(expression, "$") || strings.HasPrefix(expression, "{")
	found := hostTail.FindStringSubmatch(strings.ReplaceAll(strings.TrimSuffix(expression, "$"), `\.`, "."))
	if found == nil || !anchored {
		return condition{wide: true}
	}
	tail := strings.ToLower(found[3])
	// In version 3, the end is a name only if its dots are escaped and the expression has no alternatives.
	if !strings.HasPrefix(expression, "{") {
		_, err := counted.ParseRegex(expression)
		if err != nil || alternatives(expression) || strings.Contains(expression, `\Q`) || !strings.HasSuffix(expression, regexp.QuoteMeta("."+found[3])+"$") {
			return condition{wide: true}
		}
	}
	if len(validation.IsDNS1123Subdomain(tail)) > 0 {
		return condition{wide: true}
	}
	head := strings.TrimPrefix(found[1]+found[2], "^")
	return condition{hosts: []string{"*." + tail}, wide: head != ".+"}
}

// headerCondition returns the condition for a header, from the name and value in args. If regex is true, the
// value is a regular expression. If import cannot express the header, the condition is wide: it admits more
// requests, and its router answers 500.
func headerCondition(args []string, regex bool) condition {
	if len(args) != 2 || !headerName.MatchString(args[0]) || args[1] == "" || len(args[1]) > 4000 || strings.EqualFold(args[0], "host") {
		return condition{wide: true}
	}
	value := args[1]
	if regex {
		if _, err := counted.ParseRegex(value); err != nil {
			return condition{wide: true}
		}
		value = found(value)
	}
	return condition{headers: []pair{{strings.ToLower(args[0]), value, regex}}}
}

// found returns a regular expression that matches a whole text if a part of the text matches the given
// expression.
func found(expression string) string { return ".*(?:" + expression + ").*" }

// queryConditions returns the condition for the arguments of Query(`k`, `v`) in version 3, or Query(`k=v`, …)
// in version 2. If import cannot express an argument, or if two arguments require different values of one
// parameter, the condition is wide: it admits more requests, and its router answers 500.
func queryConditions(args []string) []condition {
	one := func(name, value string) condition {
		if !headerName.MatchString(name) || value == "" || len(value) > 1000 || strings.ContainsAny(value, "{}") {
			return condition{wide: true}
		}
		return condition{queries: []pair{{name: name, value: value}}}
	}
	if len(args) == 2 && !strings.Contains(args[0], "=") {
		return []condition{one(args[0], args[1])}
	}
	// In version 2, a request must meet all arguments.
	all := condition{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		joined, ok := all.and(one(name, value))
		if !ok {
			return nil
		}
		all = joined
	}
	return []condition{all}
}
