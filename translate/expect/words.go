package expect

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxBody is the highest value of the option BODY, the length of the request's body. maxBig is the highest value of
// the option BIG, the length of the header X-Big. Both are in bytes. Envoy accepts 60 KiB of headers unless a policy
// changes that.
const (
	maxBody = 16 << 20
	maxBig  = 64 << 10
)

// option is a setting of a request that a line writes as NAME:VALUE, such as BODY:1000. The function options returns
// all options. If NAME is the name of none of them, the word is a header.
type option struct {
	name string
	// want describes the allowed values as text.
	want string
	// read sets the value in r. It returns false if the value is not allowed.
	read func(r *Request, value string) bool
}

// options returns the options that a line may have.
func options() []option {
	return []option{
		{"BODY", fmt.Sprintf("a number of bytes, %d at most", maxBody), func(r *Request, value string) (ok bool) {
			r.BodySize, ok = number(value, maxBody)
			return ok
		}},
		{"BIG", fmt.Sprintf("a number of bytes, %d at most", maxBig), func(r *Request, value string) (ok bool) {
			r.BigSize, ok = number(value, maxBig)
			return ok
		}},
		{"GATEWAY", "NAMESPACE/NAME", func(r *Request, value string) bool {
			r.Gateway = value
			namespace, name, found := strings.Cut(value, "/")
			return found && namespace != "" && name != ""
		}},
		{"PROXY", "an IP address", func(r *Request, value string) bool { r.Proxy = value; return isAddress(value) }},
		{"FROM", "an IP address", func(r *Request, value string) bool { r.From = value; return isAddress(value) }},
		{"SNI", "a name, or - for none", func(r *Request, value string) bool {
			r.SNI = strings.TrimPrefix(value, "-")
			return value != ""
		}},
		{"CLIENT", "NAME@AUTHORITY", func(r *Request, value string) (ok bool) {
			r.Client, r.ClientOf, ok = strings.Cut(value, "@")
			return ok && r.Client != "" && r.ClientOf != ""
		}},
		{"HTTP2", "on", func(r *Request, value string) bool { r.HTTP2 = true; return value == "on" }},
		{"GRPC", "on", func(r *Request, value string) bool {
			r.HTTP2 = true
			r.Headers.Set("Content-Type", "application/grpc")
			return value == "on"
		}},
		{"TLS", "1.2", func(r *Request, value string) bool { r.TLS12 = true; return value == "1.2" }},
	}
}

// number parses a whole number. It returns false if the text is no number from 0 to the parameter most.
func number(text string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, false
	}
	return n, true
}

// isAddress reports whether a text is an IP address without a zone.
func isAddress(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

// parseWord sets in r one word NAME:VALUE of a line: an option or a header. A value with spaces is in quotation
// marks. It returns a mistake if the word is wrong.
func (r *Request) parseWord(word, name, value string) error {
	var names []string
	for _, o := range options() {
		if o.name == name {
			if !o.read(r, value) {
				return &mistake{word, fmt.Sprintf("%q is no value of %s", value, name), fmt.Sprintf("write %s:, and %s", name, o.want)}
			}
			return nil
		}
		names = append(names, o.name)
	}
	if !ir.IsToken(name) {
		return &mistake{word, fmt.Sprintf("%q is not the name of a header", name), "write NAME:VALUE without spaces"}
	}
	if near := manifest.Nearest(name, names); near != "" && name == strings.ToUpper(name) && len(name) > 2 {
		return &mistake{word, fmt.Sprintf("there is no option %s", name), fmt.Sprintf("did you mean %s? A header of that name is written in lower case", near)}
	}
	if strings.Contains(value, " ") {
		value = strings.Trim(value, `"`)
	}
	if strings.EqualFold(name, "host") {
		return r.parseHost(word, value)
	}
	if r.Connection() {
		return &mistake{word, fmt.Sprintf("a connection has no header, and the line has %s", name), "leave it out; FROM:IP and GATEWAY:NAMESPACE/NAME are no headers"}
	}
	r.Headers.Add(name, value)
	return nil
}

// parseHost sets Authority from a Host header. Authority replaces the host of the URL, but not its port, and
// not the server name in the TLS handshake. parseHost returns a mistake if the host is wrong, if it is the second
// Host header, or if the line is about a connection.
func (r *Request) parseHost(word, value string) error {
	switch {
	case r.Connection():
		return &mistake{word, "a connection has no Host header", "write the name that the client asks for into the URL"}
	case r.ownHost:
		return &mistake{word, "the line has a second Host header", "leave one of them out: Envoy rejects a request with two"}
	case value == "" || strings.ContainsAny(value, " /\"?#@"):
		return &mistake{word, fmt.Sprintf("%q is not a host", value), "write HOST or HOST:PORT, such as shop.example.com"}
	}
	r.Authority, r.ownHost = value, true
	return nil
}

// parseOutcome sets in r the outcome of a line: closed, a status, or backends. It returns a mistake if the
// outcome is wrong.
func (r *Request) parseOutcome(words []string) error {
	switch {
	case len(words) == 0:
		return &mistake{"->", "the line has no outcome behind ->", "write what must happen: a backend, a status, or closed"}
	case words[0] == "closed" && len(words) == 1:
		r.Closed = true
		return nil
	}
	if status, err := strconv.Atoi(words[0]); err == nil {
		return r.parseStatus(status, words)
	}
	for _, word := range words {
		if err := r.parseShare(word); err != nil {
			return err
		}
	}
	return nil
}

// parseStatus sets in r an outcome that begins with a status. A location may follow. It returns a mistake if
// the outcome is wrong.
func (r *Request) parseStatus(status int, words []string) error {
	r.Status = status
	switch {
	case status < 100 || status > 599:
		return &mistake{words[0], fmt.Sprintf("%d is not an HTTP status", status), "write one of 100 to 599"}
	case r.Connection():
		return &mistake{words[0], "a connection has no status", "write a backend, or closed"}
	case len(words) > 1 && !strings.Contains(words[1], "/"):
		return &mistake{words[1], fmt.Sprintf("%q is no location", words[1]), fmt.Sprintf("behind a status only the URL of a redirect is written; a share that has no backend is %d=WEIGHT", status)}
	case len(words) > 2:
		return &mistake{words[2], fmt.Sprintf("%q is too much behind the status and its location", words[2]), "put | before each detail"}
	case len(words) > 1:
		r.Location = words[1]
	}
	return nil
}

// backendName is the regular expression for a backend in a line, with or without its namespace.
const backendName = `^([a-z0-9][a-z0-9.-]*/)?[a-z0-9][a-z0-9.-]*$`

// parseShare adds to r.Backends a backend with its weight: NAME or NAME=WEIGHT. The weight is 1 if the word has
// none. NAME may also be the status of an answer by Envoy itself, as in 500=10. parseShare returns a mistake if the
// word is wrong, or if r.Backends already has NAME.
func (r *Request) parseShare(word string) error {
	name, weight, weighted := strings.Cut(word, "=")
	n := 1
	if weighted {
		var ok bool
		if n, ok = number(weight, 1_000_000); !ok {
			return &mistake{word, fmt.Sprintf("%q is not a weight", weight), "write a whole number, such as shop=90"}
		}
	}
	if !regexp.MustCompile(backendName).MatchString(name) {
		return &mistake{word, fmt.Sprintf("%q is not a backend", name), "name a Service or Backend as NAME or NAMESPACE/NAME, and put | before each detail"}
	}
	if _, twice := r.Backends[name]; twice {
		return &mistake{word, fmt.Sprintf("the backend %s is there twice", name), "add up its weights"}
	}
	r.Backends[name] = n
	return nil
}

// details returns the details that a line may have: for each name, the form of the value. A detail is a text
// behind a |. Most details say what else is expected, in the answer or in what a backend receives. The two details
// "when allowed" and "only Envoy" say instead which answers the line is about.
func details() map[string]string {
	return map[string]string{
		"status": "STATUS", "grpc": "NUMBER", "mirror": "BACKEND or BACKEND=PERCENT", "protocol": "HTTP/1.1 or HTTP/2.0",
		"only": "Envoy", "when": "allowed", "certificate": "NAME", "path": "/PATH", "host": "HOST",
		"request": "NAME: VALUE", "response": "NAME: VALUE", "by": "KIND NAMESPACE/NAME",
	}
}

// parseDetail sets in r one detail of a line. It returns a mistake if the detail is wrong.
func (r *Request) parseDetail(detail string) error {
	kind, rest, _ := strings.Cut(detail, " ")
	want, known := details()[kind]
	rest = strings.TrimSpace(rest)
	if !known {
		var names []string
		for name := range details() {
			names = append(names, name)
		}
		slices.Sort(names)
		hint := "a detail begins with " + strings.Join(names, ", ")
		if near := manifest.Nearest(kind, names); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		return &mistake{detail, fmt.Sprintf("there is no detail %q", kind), hint}
	}
	if !r.takeDetail(kind, rest) {
		return &mistake{detail, fmt.Sprintf("%q is no value of the detail %s", rest, kind), fmt.Sprintf("write %s %s", kind, want)}
	}
	return nil
}

// aboutOf returns what a detail is about: its first word, such as "path". For a header or a mirror, the name of the
// header or backend follows, as in "request x-user" or "mirror shop". A line must not have two details about the same
// thing, because they could contradict each other.
func aboutOf(detail string) string {
	kind, rest, _ := strings.Cut(detail, " ")
	switch kind {
	case "request", "response":
		name, _, _ := strings.Cut(strings.TrimSpace(rest), ":")
		return kind + " " + strings.ToLower(name)
	case "mirror":
		name, _, _ := strings.Cut(strings.TrimSpace(rest), "=")
		return kind + " " + name
	}
	return kind
}

// takeDetail sets the value of a detail in r. kind is the first word of the detail, and rest is the text after
// it. It returns false if the value is not allowed.
func (r *Request) takeDetail(kind, rest string) (ok bool) {
	name, value, isHeader := strings.Cut(rest+" ", ": ") // an empty value, too
	value = strings.TrimSpace(value)
	isHeader = isHeader && ir.IsToken(name)
	ok = rest != ""
	switch kind {
	case "status":
		r.Failure, ok = number(rest, 599)
		return ok && r.Failure >= 100
	case "grpc":
		r.Answer["Grpc-Status"], r.GRPCStatus = rest, rest
		_, ok = number(rest, 99)
	case "mirror":
		return r.takeMirror(rest)
	case "protocol":
		r.Protocol = rest
		ok = rest == "HTTP/1.1" || rest == "HTTP/2.0"
	case "only":
		r.OnlyEnvoy, ok = true, rest == "Envoy"
	case "when":
		r.WhenAllowed, ok = true, rest == "allowed"
	case "certificate":
		r.Certificate = rest
	case "path":
		r.Path = rest
	case "host":
		r.Host = rest
	case "request":
		r.ToBackend[name], ok = value, isHeader
	case "response":
		r.Answer[name], ok = value, isHeader
	case "by":
		return r.takeObject(rest)
	}
	return ok
}

// takeMirror adds to r.Mirrors the backend to which Envoy mirrors requests. The parameter text is BACKEND=PERCENT, or
// BACKEND if Envoy mirrors all requests. takeMirror returns false for other texts.
func (r *Request) takeMirror(text string) (ok bool) {
	name, share, weighted := strings.Cut(text, "=")
	r.Mirrors[name] = 100
	if weighted {
		if r.Mirrors[name], ok = number(share, 100); !ok {
			return false
		}
	}
	return regexp.MustCompile(backendName).MatchString(name)
}

// takeObject sets r.By to the object that a text names. The text is KIND NAMESPACE/NAME, or KIND NAME for a
// kind without namespaces. It returns false for other texts.
func (r *Request) takeObject(text string) (ok bool) {
	kind, name, found := strings.Cut(text, " ")
	namespace, own, namespaced := strings.Cut(name, "/")
	if !namespaced {
		namespace, own = "", name
	}
	r.By = manifest.Key{Kind: kind, Namespace: namespace, Name: own}
	return found && kind != "" && own != "" && !strings.Contains(name, " ") && (!namespaced || namespace != "")
}

// portOf returns the port of a URL, 0 if the URL has none. It returns an error if the port is not a number from
// 1 to 65535.
func portOf(u *url.URL) (uint64, error) {
	if u.Port() == "" {
		return 0, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err == nil && port == 0 {
		err = strconv.ErrRange
	}
	return port, err
}
