package oidc

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/translate/ir"
)

func TestOnlyPublicAddressesAreAsked(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "100.64.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.168.1.1",
		"198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1",
		"fd00:ec2::254", "fec0::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "100::1",
	} {
		if public(netip.MustParseAddr(text)) {
			t.Errorf("%s is asked", text)
		}
		if err := admitted(netip.AddrPortFrom(netip.MustParseAddr(text), 443).String(), nil); err == nil {
			t.Errorf("%s is connected to", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "172.32.0.1", "192.0.1.1", "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"} {
		if !public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not asked", text)
		}
	}
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	if err := admitted("[::ffff:10.1.2.3]:443", networks); err != nil {
		t.Errorf("a network that is named: %v", err)
	}
	if err := admitted("10.2.0.1:443", networks); err == nil {
		t.Error("a network that is not named is connected to")
	}
}

func TestFaultsOfADocument(t *testing.T) {
	const issuer = "https://idp.test"
	good := `{"issuer":"https://idp.test","authorization_endpoint":"https://idp.test/a?b=c","token_endpoint":"https://idp.test/t","x":1}`
	if answer, failed := read([]byte(good), issuer); failed != nil || answer.Token != "https://idp.test/t" {
		t.Errorf("%+v %v", answer, failed)
	}
	for body, want := range map[string]string{
		strings.Replace(good, `"https://idp.test"`, `"https://idp.test/"`, 1):             "a document of the issuer",
		strings.Replace(good, `"https://idp.test"`, `"`+strings.Repeat("x", 9000)+`"`, 1): "a document of the issuer",
		strings.Replace(good, "token_endpoint", "token", 1):                               "a document without token_endpoint",
		strings.Replace(good, `"https://idp.test/t"`, `"http://idp.test/t"`, 1):           "token_endpoint",
		strings.Replace(good, `"https://idp.test/t"`, `"https://u@idp.test/t"`, 1):        "token_endpoint",
		strings.Replace(good, `"https://idp.test/t"`, `"https://idp.test/t\n"`, 1):        "token_endpoint",
		strings.Replace(good, `"https://idp.test/t"`, `{}`, 1):                            "no JSON",
		strings.Replace(good, `"x":1`, `"jwks_uri":"file:///etc/passwd"`, 1):              "jwks_uri",
		strings.Replace(good, `"x":1`, `"end_session_endpoint":"javascript:x"`, 1):        "end_session_endpoint",
		"":                                "no JSON",
		"<html>":                          "no JSON",
		strings.Repeat(" ", 64<<10) + "{": "more than 65536 bytes",
	} {
		_, failed := read([]byte(body), issuer)
		if failed == nil || !strings.Contains(failed.message, want) || len(failed.message) > 1000 {
			t.Errorf("%.80q: %v, want %q", body, failed, want)
		}
	}
}

// provider is an OpenID provider on loopback, and an Asker that may ask it.
type provider struct {
	t      *testing.T
	server *httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	asker  *Asker
	news   chan struct{}
}

func newProvider(t *testing.T, file string) *provider {
	t.Helper()
	p := &provider{t: t, news: make(chan struct{}, 100)}
	p.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answer(w, r)
	}))
	p.server.Config.ErrorLog = nil
	t.Cleanup(p.server.Close)
	p.set(p.document("/token"))
	p.start(file)
	return p
}

// start makes an Asker, which forgets all that the one before knew but File.
func (p *provider) start(file string, networks ...netip.Prefix) {
	p.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(p.server.Certificate())
	if len(networks) == 0 {
		networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	p.asker = New(Options{
		Networks: networks, Roots: roots, Refresh: time.Millisecond, File: file, Changed: func() { p.news <- struct{}{} }, Log: zerolog.New(zerolog.NewTestWriter(p.t)),
	})
	for range Workers {
		go p.asker.Run(p.t.Context())
	}
}

func (p *provider) set(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *provider) document(token string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q}`, p.server.URL, p.server.URL+"/a", p.server.URL+token)
	}
}

// wait waits until what is known of the provider is as wanted.
func (p *provider) wait(what string, done func(ir.IssuerAnswer) bool) {
	p.t.Helper()
	deadline := time.After(2 * time.Minute)
	for !done(p.asker.Answers()[p.server.URL]) {
		select {
		case <-p.news:
		case <-deadline:
			p.t.Fatalf("%s: %+v", what, p.asker.Answers())
		}
	}
}

func (p *provider) token(path string) func(ir.IssuerAnswer) bool {
	return func(a ir.IssuerAnswer) bool { return a.Token == p.server.URL+path }
}

func fails(with string) func(ir.IssuerAnswer) bool {
	return func(a ir.IssuerAnswer) bool { return strings.Contains(a.Fault, with) }
}

// An issuer is asked until it answers, and again afterwards: what it answers is known, and no failure takes
// that away.
func TestAnIssuerIsAskedAgainAndAgain(t *testing.T) {
	p := newProvider(t, "")
	p.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	p.asker.Want([]string{p.server.URL})
	p.wait("no answer yet", fails("status 503; it is asked again within a minute"))
	p.set(p.document("/token"))
	p.wait("the first answer", p.token("/token"))
	p.set(p.document("/other"))
	p.wait("the next answer", p.token("/other"))
	p.set(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, failing := p.asker.Unanswered(); failing == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the provider is not asked again")
		}
	}
	p.wait("the provider is away", p.token("/other"))
}

// What an issuer answered last is known after a restart without it, at once.
func TestTheLastDocumentIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "issuers")
	p := newProvider(t, file)
	p.asker.Want([]string{p.server.URL})
	p.wait("the answer", p.token("/token"))
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if again := New(Options{File: file}); p.token("/token")(again.Answers()[p.server.URL]) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the answer is not saved")
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	for _, body := range []string{"x", `[{"issuer":"https://a","authorization_endpoint":"http://a","token_endpoint":"https://a"}]`, ""} {
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := New(Options{File: file}).Answers(); len(got) > 0 {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// An issuer whose name leads into another network is not connected to, and neither is one that
// redirects, is too long, or has no certificate that is trusted.
func TestWhatIsNotAsked(t *testing.T) {
	p := newProvider(t, "")
	other := false
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other = true }))
	defer target.Close()
	p.set(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", target.URL)
		w.WriteHeader(http.StatusFound)
	})
	p.asker.Want([]string{p.server.URL})
	p.wait("a redirect", fails("redirects are not followed"))
	p.set(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 65<<10)) })
	p.wait("a long document", fails("more than 65536 bytes"))
	if other {
		t.Error("the redirect is followed")
	}
	p.start("", netip.MustParsePrefix("10.0.0.0/8"))
	port := p.server.Listener.Addr().(*net.TCPAddr).Port
	local := fmt.Sprintf("https://localhost:%d", port)
	p.asker.Want([]string{p.server.URL, local})
	p.wait("a loopback address", fails("127.0.0.1 is not a public one"))
	for !strings.Contains(p.asker.Answers()[local].Fault, "is not a public one") {
		<-p.news
	}
	if hint := p.asker.Answers()[p.server.URL].Hint; !strings.Contains(hint, "--issuer-networks 127.0.0.1/32") {
		t.Errorf("%s", hint)
	}
}

// The number of issuers is limited; those that are known go before.
func TestIssuersAreLimited(t *testing.T) {
	p := newProvider(t, "")
	p.asker.Want([]string{p.server.URL})
	p.wait("the answer", p.token("/token"))
	many := []string{p.server.URL}
	for i := range 2 * maxIssuers {
		many = append(many, fmt.Sprintf("https://10.0.0.1:%d", 1000+i))
	}
	p.asker.Want(many)
	answers := p.asker.Answers()
	if !answers[p.server.URL].Known() || !strings.Contains(answers[many[2*maxIssuers]].Fault, "at most 64 issuers") {
		t.Errorf("%d answers: %v", len(answers), answers[many[2*maxIssuers]])
	}
	p.asker.Want(many[2*maxIssuers:])
	if a := p.asker.Answers()[many[2*maxIssuers]]; strings.Contains(a.Fault, "at most") {
		t.Errorf("there is room: %v", a)
	}
}

// An issuer that has to wait has the place of one that was being asked and is not wanted any more.
func TestAnIssuerThatWaitsGetsAFreePlace(t *testing.T) {
	a := New(Options{Changed: func() {}})
	var many []string
	for i := range maxIssuers {
		many = append(many, fmt.Sprintf("https://a%d.test", i))
	}
	a.Want(many)
	a.claim(many[0])
	a.Want(append([]string{"https://late.test"}, many[1:]...))
	if !strings.Contains(a.Answers()["https://late.test"].Fault, "at most") || !a.announces() {
		t.Fatal("there is room already")
	}
	a.note(many[0], ir.IssuerAnswer{}, &fault{"status 503", ""})
	if fault := a.Answers()["https://late.test"].Fault; fault != "" || !a.announces() || !a.claim("https://late.test") {
		t.Errorf("it is not asked: %q", fault)
	}
}

// What an issuer writes that is not used is published once.
func TestAFaultOfTheSameKindIsPublishedOnce(t *testing.T) {
	times := 0
	a := New(Options{Changed: func() { times++ }})
	a.Want([]string{"https://a.test"})
	for _, wrote := range []string{"one", `t"w"o\`, "three"} {
		a.note("https://a.test", ir.IssuerAnswer{}, &fault{"a document of the issuer " + quoted(wrote), ""})
	}
	if fault := a.Answers()["https://a.test"].Fault; times != 1 || !strings.Contains(fault, `"one"`) {
		t.Errorf("published %d times: %s", times, fault)
	}
	if a.note("https://a.test", ir.IssuerAnswer{}, &fault{"status 503", ""}); times != 2 {
		t.Error("another fault is not published")
	}
}

// The longest documents of the most issuers can be read again.
func TestTheLargestFileIsReadAgain(t *testing.T) {
	a := New(Options{File: filepath.Join(t.TempDir(), "issuers")})
	long := func(start string) string { return start + strings.Repeat("&", maxEndpoint-len(start)) }
	for i := range maxIssuers {
		uri := long(fmt.Sprintf("https://a%d.test/", i))
		a.issuers[uri] = &issuer{answer: ir.IssuerAnswer{Authorization: uri, Token: uri, EndSession: uri, JWKS: uri}}
	}
	a.save()
	if got := len(New(Options{File: a.options.File}).Answers()); got != maxIssuers {
		t.Errorf("%d issuers are known, want %d", got, maxIssuers)
	}
}
