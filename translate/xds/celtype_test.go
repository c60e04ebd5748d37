package xds

import (
	"strings"
	"testing"
)

// An expression that can never decide as its author means fails for every request, or is false or true for every
// request. What is measured on a real Envoy stands in the case policy-rbac-never.
func TestExpressionsThatAreNeverRight(t *testing.T) {
	for fault, expressions := range map[string][]string{
		"addresses have a port": {
			`source.address == '127.0.0.1'`, `'127.0.0.1' == source.address`, `source.address != '203.0.113.9'`, `!(source.address == '10.0.0.1')`,
			`source.address in ['10.0.0.1:80', '10.0.0.2']`, `!(source.address in ['10.0.0.1'])`, `destination.address == '10.0.0.1'`, `source.address == '::1'`,
			`source.address == '[::1]'`, `source.address == 'localhost'`, `source.address == '10.0.0.0/8'`, `source.address == ''`,
			`request.path == '/a' && (source.address == '10.0.0.1' || true)`, `source.address.endsWith('.1')`, `source.address.endsWith('10.0.0.1')`,
			`source.address.matches('^10[.]0[.]0[.]1$')`, `source.address.matches('(10\\.0\\.0\\.1|::1]|x)$')`, `source['address'] == '10.0.0.1' || source.address == 'x'`,
		},
		"never equal": {
			`request.method == 1`, `request.path != 1`, `request.headers['x-a'] != true`, `source.port == '80'`, `request.method in ['GET', 1]`, `request.time == 0`,
			`request.time > 0`, `request.size == '0'`, `request.path == '/a' && connection.mtls > 1`, `connection.mtls == 'true'`, `request.headers == 'x'`,
			`request.headers == ['x']`, `connection.subject_peer_certificate == 1`, `connection.id == 'x'`, `request.referer == b'x'`, `size(request.path) > 'a'`,
			`(request.path == '/a') == 'true'`, `request.headers.foo == 1`, `metadata.filter_metadata == 'x'`, `xds.route_name == 1`,
		},
		"compares with null": {`request.referer == null`, `request.headers['x'] != null`, `null == request.path`},
		"takes a text only": {
			`request.headers.contains('x')`, `request.time.startsWith('x')`, `source.port.startsWith('8')`, `request.path.contains(1)`, `request.path.startsWith(request.headers)`,
		},
		"takes true or false only": {`request.path && true`, `!request.path`, `'x' || true`, `request.path ? true : false`},
		"takes a number only":      {`-request.path < 1`, `request.path * 2 == 1`},
		"looks with":               {`'a' in request.path`, `'a' in 'abc'`, `1 in source.port`},
		"names of headers":         {`1 in request.headers`},
		"reads a part of":          {`request.path['a'] == 'x'`, `request.headers[1] == 'x'`, `['a']['b'] == 'x'`},
		"which has no fields":      {`request.path.foo == 'x'`, `request.headers.x.y == 'x'`},
		"and it takes":             {`request.path.startsWith()`, `request.path.startsWith('a', 'b')`, `size() == 1`},
		"has size of":              {`size(1) == 1`, `size(source.port) == 1`},
		"has int of":               {`int(request.headers) == 1`},
		"is not true or false":     {`request.path`, `request.headers['x']`, `'x'`, `source.port`, `request.headers`, `request.time`},
	} {
		for _, expression := range expressions {
			if _, _, got := parseCEL(expression); !strings.Contains(got, fault) && !strings.Contains(got, "without a field") {
				t.Errorf("%s: %q, want %q", expression, got, fault)
			}
		}
	}
}

func TestExpressionsThatMayBeRight(t *testing.T) {
	for _, expression := range []string{
		`request.method == 'GET'`, `request.headers['x-a'] in ['a', 'b']`, `int(request.headers['x-a']) > 1`, `request.size > 10 && connection.mtls == true`,
		`metadata.filter_metadata['a']['b'] == 1`, `metadata.filter_metadata['a']['b'] == null`, `'x-a' in request.headers`, `source.address == '10.0.0.1:80'`,
		`source.address in ['10.0.0.1:80', '[::1]:80']`, `source.address.startsWith('10.0.0.1')`, `source.address.matches('^10[.]0[.]0[.]1:')`, `source.address.matches('^10[.]')`,
		`source.address.matches('^10[.]0[.]0[.]1:[0-9]+$')`, `source.address.matches('(80|:443)$')`, `source.address.endsWith(':443')`, `source.address.endsWith('3')`,
		`destination.address.endsWith(':8080')`, `source.address == request.headers['x-peer']`, `request.size < 1.5`, `source.port == 1u`, `connection.id == 1`,
		`request.headers.size() > 1`, `size(request.headers) > 1`, `request.headers.foo == 'x'`, `has(request.headers.foo)`, `int(request.time) > 0`,
		`request.time == request.time`, `connection.mtls`, `!connection.mtls`, `metadata.filter_metadata['a']['b']`, `connection.subject_peer_certificate == 'CN=x'`,
		`request.path == '/a' ? true : connection.mtls`, `(connection.mtls ? 'a' : 'b') == 'a'`, `'a' in metadata.filter_metadata['x']`, `['a'][0] == 'a'`, `true`,
		`metadata.filter_metadata['a'].b.startsWith('x')`, `request.headers == request.headers`, `-source.port < 0`, `filter_state['a'] == 'b'`,
	} {
		if _, _, got := parseCEL(expression); got != "" {
			t.Errorf("%s: %q", expression, got)
		}
	}
}

// An attribute that a request may lack makes the expression fail. A test in the expression says what is meant.
func TestUnguarded(t *testing.T) {
	for expression, want := range map[string]string{
		`request.headers['x-a'] == 'b'`:                                      "the header x-a; !('x-a' in request.headers) ||",
		`request.headers.foo == 'b'`:                                         "the header foo; !('foo' in request.headers) ||",
		`!request.referer.startsWith('https://ok')`:                          "request.referer; !has(request.referer) ||",
		`!request.useragent.startsWith('good')`:                              "request.useragent; ",
		`connection.subject_peer_certificate != 'CN=x'`:                      "connection.subject_peer_certificate; ",
		`connection.uri_san_peer_certificate != 'x'`:                         "connection.uri_san_peer_certificate; ",
		`connection.sha256_peer_certificate_digest != 'x'`:                   "connection.sha256_peer_certificate_digest; ",
		`connection.tls_version != 'TLSv1.3'`:                                "connection.tls_version; ",
		`metadata.filter_metadata['j']['payload']['sub'] != 'alice'`:         "metadata.filter_metadata['j']['payload']['sub']; !('j' in metadata.filter_metadata && 'payload' in metadata.filter_metadata['j'] && 'sub' in metadata.filter_metadata['j']['payload']) ||",
		`metadata.filter_metadata.j.sub.startsWith('a')`:                     "metadata.filter_metadata['j']['sub']; ",
		`'j' in metadata.filter_metadata && metadata.filter_metadata.j.s==1`: "metadata.filter_metadata['j']['s']; ",
		`!('s' in metadata.filter_metadata['j'])`:                            "metadata.filter_metadata['j']; ",
		`filter_state['a'] == 'b'`:                                           "filter_state['a']; !('a' in filter_state) ||",
		`xds.cluster_name == 'a'`:                                            "xds.cluster_name; ",
		`request.headers[request.path] == 'a'`:                               "the name that is looked up in request.headers; write the name out",
		`[request.referer] == ['a']`:                                         "request.referer; ",
		`size(request.referer) > 1`:                                          "request.referer; ",
		`request.path == '/a' ? request.referer == 'b' : false`:              "request.referer; ",
		// not warned of
		`'X-A' in request.headers && request.headers['x-a'] == 'b'`: "", `!('x-a' in request.headers) || request.headers['X-A'] != 'b'`: "",
		`has(request.headers.foo) && request.headers['foo'] == 'b'`: "", `!has(request.referer) || request.referer != 'b'`: "",
		`'referer' in request.headers && request.referer == 'b'`: "", `has(request.useragent) && request.headers['user-agent'] == 'b'`: "",
		`connection.mtls && connection.subject_peer_certificate == 'x'`: "", `connection.requested_server_name != 'x'`: "", `request.headers[':path'] == '/'`: "",
		`request.headers['host'] == 'a'`: "", `request.id != 'a' && request.size == 0 && request.query == 'a' && request.time == request.time`: "",
		`'j' in metadata.filter_metadata && 's' in metadata.filter_metadata['j'] && metadata.filter_metadata.j.s == 1`: "", `source.address != '10.0.0.1:1'`: "",
	} {
		_, tree, fault := parseCEL(expression)
		if fault != "" {
			t.Errorf("%s: %s", expression, fault)
			continue
		}
		got := ""
		if r := unguarded(tree, false); r != nil {
			got = r.words() + "; " + strings.TrimPrefix(r.hint("denies"), "say what is meant for such a request: ")
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// A path that no request has when Envoy evaluates the expression makes a comparison that is always the same.
func TestPathsThatNoRequestHas(t *testing.T) {
	for expression, want := range map[string]string{
		`request.path == '/adm%69n'`: "/adm%69n", `request.url_path.startsWith('/%7Euser')`: "/%7Euser", `'/a/../b' == request.path`: "/a/../b",
		`request.url_path in ['/a', '/./b']`: "/./b", `request.path.startsWith('admin')`: "admin", `request.path.contains('%61')`: "%61",
		`request.url_path.matches('^/adm%69n')`: "/adm%69n", `request.path != ''`: "", `request.path == 'admin'`: "admin",
		`request.path == '/a?x=%69'`: "", `request.path.contains('?x=%69')`: "", `request.path.startsWith('/a//b')`: "", `request.path.endsWith('..')`: "",
		`request.path.matches('^/a/[.][.]/')`: "/a/../", `request.path.matches('^/(a|%61)$')`: "", `request.url_path.startsWith('/a%2Fb')`: "", `request.headers['x'] == '%61'`: "",
	} {
		_, tree, fault := parseCEL(expression)
		if fault != "" {
			t.Fatal(fault)
		}
		if got := neverInPath(tree); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}

// An Allow expression is warned of where a negated attribute is absent, whatever it reads before.
func TestUnguardedNegations(t *testing.T) {
	for expression, want := range map[string]string{
		`request.headers['x-a'] == 'b'`: "", `request.headers['x-a'] == 'b' && request.headers['x-c'] != 'd'`: "request.headers['x-c']",
		`request.headers['x-a'] == 'b' || !request.referer.startsWith('c')`:                  "request.referer",
		`request.headers['x-a'] == 'b' && (!has(request.referer) || request.referer != 'c')`: "",
	} {
		_, tree, fault := parseCEL(expression)
		if fault != "" {
			t.Fatal(fault)
		}
		got := ""
		if r := unguarded(tree, true); r != nil {
			got = r.path
		}
		if got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}
