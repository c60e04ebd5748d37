package expect

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// A line that cannot be read is a problem that names the word, what is wrong and what to do.
func TestBrokenLinesAreProblems(t *testing.T) {
	for _, test := range []struct{ line, column, message, hint string }{
		{"GET http://a/", "1", "the line has no outcome: it lacks ->", "write it as: METHOD URL"},
		{"GET http://a/ ->", "15", "no outcome behind ->", "a backend, a status, or closed"},
		{"GET http://a/ ->  | by X a/b", "15", "no outcome behind ->", "a backend, a status, or closed"},
		{"GET http://a/->b", "1", "with a space on both sides", "write it as"},
		{"GET http://a/ -> b -> c", "1", "a second ->", "one request on a line"},
		{"GET -> b", "1", "names no URL", "write it as"},
		{"GET shop.example.com/cart -> b", "5", `"shop.example.com/cart" is not a URL`, "http://shop.example.com:8080/cart"},
		{"GET http://:80/ -> b", "5", "is not a URL", "with scheme and host"},
		{"http://a:80/ -> b", "1", "the request has no method", "begin the line with GET"},
		{"G@T http://a:80/ -> b", "1", `"G@T" is not a method`, "begin the line with GET"},
		{"GET ftp://a/ -> b", "5", `"ftp" is no scheme`, "use http, https, tcp, tls, udp"},
		{"GET http://a:99999/ -> b", "5", "names no port", "http://a:PORT"},
		{"tcp://a -> b", "1", "names no port", "tcp://a:PORT"},
		{"GET tcp://a:1 -> b", "1", "a connection has no method", "begin the line with the URL"},
		{"tcp://a:1 -> 404", "14", "a connection has no status", "a backend, or closed"},
		{"GET http://a/ x-env -> b", "15", `"x-env" is no header`, "NAME:VALUE"},
		{"GET http://a/ x-env: prod -> b", "22", `"prod" is no header`, "without a space behind the colon"},
		{`GET http://a/ x-env:"a b -> b`, "21", "a quotation mark has no end", `NAME:"VALUE"`},
		{"GET http://a/ x/y:1 -> b", "15", `"x/y" is not the name of a header`, "NAME:VALUE"},
		{"GET http://a/ FORM:10.0.0.1 -> b", "15", "there is no option FORM", "did you mean FROM?"},
		{"GET http://a/ FROM:office -> b", "15", `"office" is no value of FROM`, "FROM:, and an IP address"},
		{"GET http://a/ HTTP2:off -> b", "15", `"off" is no value of HTTP2`, "on"},
		{"GET http://a/ TLS:1.3 -> b", "15", `"1.3" is no value of TLS`, "1.2"},
		{"tcp://a:1 x-a:1 -> b", "11", "a connection has no header, and the line has x-a", "leave it out"},
		{"GET http://a/ -> 403 | by Foo a/b | by Foo a/c", "37", `the line has a second "by"`, "leave one of them out"},
		{"GET http://a/ -> b | request X-A: 1 | request x-a: 2", "39", `the line has a second "request x-a"`, "leave one of them out"},
		{"GET http://a/ BODY:-1 -> b", "15", `"-1" is no value of BODY`, "a number of bytes"},
		{"GET http://a/ BODY:99999999999 -> b", "15", "is no value of BODY", "a number of bytes"},
		{"GET http://a/ BIG:65537 -> b", "15", `"65537" is no value of BIG`, "a number of bytes, 65536 at most"},
		{"GET http://a/ GATEWAY:eg -> b", "15", `"eg" is no value of GATEWAY`, "NAMESPACE/NAME"},
		{"GET http://a/ CLIENT:x -> b", "15", `"x" is no value of CLIENT`, "NAME@AUTHORITY"},
		{"GET http://a/ -> 700", "18", "700 is not an HTTP status", "100 to 599"},
		{"GET http://a/ -> 403 by TrafficPolicy a/b", "22", `"by" is no location`, "URL of a redirect"},
		{"GET http://a/ -> 302 http://b/ http://c/", "32", "too much behind the status", "| before each detail"},
		{"GET http://a/ -> b=x", "18", `"x" is not a weight`, "shop=90"},
		{"GET http://a/ -> b=0", "15", "all weights are 0", "leave out"},
		{"GET http://a/ -> b=1 b=2", "22", "the backend b is there twice", "add up"},
		{"GET http://a/ -> Shop!", "18", `"Shop!" is not a backend`, "NAMESPACE/NAME"},
		{"GET http://a/ -> b | stauts 404", "22", `there is no detail "stauts"`, "did you mean status?"},
		{"GET http://a/ -> b | zzzzzzzzzz", "22", `there is no detail "zzzzzzzzzz"`, "begins with by, certificate"},
		{"GET http://a/ -> b | status ok", "22", `"ok" is no value of the detail status`, "write status STATUS"},
		{"GET http://a/ -> b | request x-env", "22", "is no value of the detail request", "NAME: VALUE"},
		{"GET http://a/ -> b | mirror c=200", "22", "is no value of the detail mirror", "PERCENT"},
		{"GET http://a/ -> b | protocol h2", "22", "is no value of the detail protocol", "HTTP/2.0"},
		{"GET http://a/ -> b | when possible", "22", "is no value of the detail when", "when allowed"},
		{"GET http://a/ -> 403 | by acl", "24", "is no value of the detail by", "by KIND NAMESPACE/NAME"},
		{"GET http://a/ -> 404 | path /x", "22", "says what a backend receives", "name the backend"},
		{"GET http://a/ -> b | by TrafficPolicy a/b", "20", "an object that denies the request", "name the status"},
		{"GET http://a/ -> \xff", "1", "not valid UTF-8", "save the file"},
	} {
		_, problems := Parse("requests", []byte("# a comment\n\n"+test.line+"\nGET http://a/ -> b\n"))
		if len(problems) != 1 {
			t.Errorf("%q: problems %+v", test.line, problems)
			continue
		}
		p := problems[0]
		if p.Position() != "requests:3:"+test.column || !strings.Contains(p.Message, test.message) || !strings.Contains(p.Hint, test.hint) {
			t.Errorf("%q: %s: %s; %s", test.line, p.Position(), p.Message, p.Hint)
		}
	}
}

// The parts of a line are read as docs/reference/tests.md says, and the path as it is written.
func TestLinesAreRead(t *testing.T) {
	requests, problems := Parse("team/requests", []byte("\ufeff# tests\r\n"+
		`POST https://shop.example.com/a/../b%2f?c=%zz X-Env:"a b" FROM:192.0.2.7 SNI:- BODY:12 -> team/shop=90 503=10 | request x-user: - | request x-empty: | path /x?y | when allowed`+"\r\n"+
		"   tls://db.example.com:5432 -> closed | by TrafficPolicy edge/acl"))
	if len(problems) > 0 || len(requests) != 2 {
		t.Fatal(requests, problems)
	}
	r := requests[0]
	if r.Place() != "team/requests:2" || r.Target != "/a/../b%2f?c=%zz" || r.Port() != 443 || r.Headers.Get("X-Env") != "a b" || r.From != "192.0.2.7" ||
		r.SNI != "" || r.BodySize != 12 || r.Backends["team/shop"] != 90 || r.Backends["503"] != 10 || r.ToBackend["x-user"] != "-" || r.Path != "/x?y" || !r.WhenAllowed {
		t.Errorf("%+v", r)
	}
	if value, ok := r.ToBackend["x-empty"]; !ok || value != "" {
		t.Errorf("the empty header is %q", value)
	}
	if r = requests[1]; r.Number != 3 || !r.Closed || !r.Connection() || r.By != (manifest.Key{Kind: "TrafficPolicy", Namespace: "edge", Name: "acl"}) {
		t.Errorf("%+v", r)
	}
}

// The header of BIG is there when the request is made, and not before: a file may have many lines.
func TestBigHeadersAreMadeLate(t *testing.T) {
	requests, problems := Parse("requests", []byte("GET http://a/ BIG:65536 x-a:1 -> b"))
	if len(problems) > 0 || len(requests) != 1 {
		t.Fatal(requests, problems)
	}
	r := requests[0]
	if len(r.Headers) != 1 || len(r.Header().Get("X-Big")) != 65536 || r.Header().Get("X-A") != "1" || len(r.Headers) != 1 {
		t.Errorf("%d headers written, X-Big of %d bytes", len(r.Headers), len(r.Header().Get("X-Big")))
	}
	if got := r.query().Headers.Get("X-Big"); len(got) != 65536 {
		t.Errorf("the question has %d bytes", len(got))
	}
}

func TestFilesOfTestsAreKnownByName(t *testing.T) {
	for name, is := range map[string]bool{"requests": true, "shop.requests": true, "requests.yaml": false, "myrequests": false, "requests.txt": false} {
		if IsFile(name) != is {
			t.Errorf("IsFile(%q) is %v", name, !is)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("GET http://a:80/x y:z -> b=1 c=2 | path /y | by A b/c\n"))
	f.Add([]byte("tcp://[::1]:1 PROXY:::1 -> closed"))
	f.Fuzz(func(t *testing.T, text []byte) {
		requests, problems := Parse("requests", text)
		for _, r := range requests {
			if r.URL == nil || r.Port() == 0 || r.Number == 0 {
				t.Errorf("%+v", r)
			}
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" || p.Hint == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
