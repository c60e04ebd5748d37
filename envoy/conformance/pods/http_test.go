package pods

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	suitehttp "sigs.k8s.io/gateway-api/conformance/utils/http"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
)

// ask sends a request as the suite does, and decodes the answer as it does.
func ask(t *testing.T, pod *corev1.Pod, port, path string, change func(*roundtripper.Request)) (*roundtripper.CapturedRequest, *roundtripper.CapturedResponse, error) {
	t.Helper()
	target, err := url.Parse("http://" + at(pod, port) + path)
	if err != nil {
		t.Fatal(err)
	}
	r := roundtripper.Request{T: t, URL: *target}
	if change != nil {
		change(&r)
	}
	client := &roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	return client.CaptureRoundTrip(r)
}

func TestHTTPEchoesWhatItSaw(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("echo", "SERVICE_NAME", "shop"))
	saw, got, err := ask(t, pod, "3000", "//some//path?q=1", func(r *roundtripper.Request) {
		r.Host, r.Method = "shop.example.com", http.MethodPut
		r.Headers = map[string][]string{"X-One": {"1"}, "X-Echo-Set-Header": {"X-Set:a, X-Set:b,X-Other:c:d"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if saw.Path != "//some//path?q=1" || saw.Host != "shop.example.com" || saw.Method != http.MethodPut || saw.Protocol != "HTTP/1.1" {
		t.Errorf("it saw %s %s of %s by %s", saw.Method, saw.Path, saw.Host, saw.Protocol)
	}
	if saw.Headers["X-One"][0] != "1" || saw.HTTPPort != "3000" || saw.TLS.Version != "" {
		t.Errorf("it saw headers %v, port %s, TLS %q", saw.Headers, saw.HTTPPort, saw.TLS.Version)
	}
	if saw.Pod != pod.Name || saw.Namespace != "infra" {
		t.Errorf("it was %s/%s, not %s", saw.Namespace, saw.Pod, pod.Name)
	}
	if got.StatusCode != http.StatusOK || got.Headers["X-Set"][0] != "a,b" || got.Headers["X-Other"][0] != "c:d" {
		t.Errorf("answer %d with headers %v", got.StatusCode, got.Headers)
	}
}

func TestHTTPStatusIsWhatThePathSays(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("echo"))
	for path, want := range map[string]int{"/status/503": 503, "//status//201": 201, "/status/none": 400, "/status/12345": 400, "/health": 200} {
		_, got, err := ask(t, pod, "3000", path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, got.StatusCode, want)
		}
	}
}

func TestHTTPWithoutTLSSpeaksHTTP2OnAPortOfItsOwn(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("echo"))
	saw, _, err := ask(t, pod, "3001", "/", func(r *roundtripper.Request) { r.Protocol = roundtripper.H2CPriorKnowledgeProtocol })
	if err != nil {
		t.Fatal(err)
	}
	if saw.Protocol != "HTTP/2.0" || saw.Pod != pod.Name {
		t.Errorf("pod %s saw %s", saw.Pod, saw.Protocol)
	}
	_, got, err := ask(t, pod, "3001", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != http.StatusBadRequest {
		t.Errorf("HTTP/1.1 got %d on the port of HTTP/2", got.StatusCode)
	}
}

func TestHTTPRetryFailsAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("echo"))
	codes := func(path string) (out []int) {
		for range 3 {
			_, got, err := ask(t, pod, "3000", path, nil)
			switch {
			case errors.Is(err, syscall.ECONNRESET):
				out = append(out, -1)
			case err != nil:
				t.Fatal(err)
			default:
				out = append(out, got.StatusCode)
			}
		}
		return out
	}
	for path, want := range map[string][3]int{
		"/retry/x?uuid=a&succeedAfter=2&responseCode=503":     {503, 503, 200},
		"/retry/x?uuid=b&succeedAfter=2&responseCode=500":     {500, 500, 200}, // counted by itself
		"/retry/x?uuid=c&succeedAfter=1":                      {-1, 200, 200},
		"/retry/x?uuid=d&succeedAfter=1&delayRetry=1ms":       {-1, 200, 200},
		"/retry/x?uuid=e&succeedAfter=1&delayRetry=a-minute":  {400, 200, 200},
		"/retry/x?succeedAfter=1":                             {400, 400, 400},
		"/retry/x?uuid=f":                                     {400, 400, 400},
		"/retry/x?uuid=g&succeedAfter=1&responseCode=nothing": {400, 200, 200},
	} {
		if got := codes(path); [3]int(got) != want {
			t.Errorf("%s: %v, want %v (-1 is a reset)", path, got, want)
		}
	}
}

// A client that gives up must be seen to have left: the request is not held.
func TestHTTPDelay(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("echo"))
	start := time.Now()
	if _, _, err := ask(t, pod, "3000", "/?delay=50ms", nil); err != nil {
		t.Fatal(err)
	}
	if passed := time.Since(start); passed < 50*time.Millisecond {
		t.Errorf("it answered after %s", passed)
	}
	if _, got, err := ask(t, pod, "3000", "/?delay=long", nil); err != nil || got.StatusCode != http.StatusBadRequest {
		t.Errorf("a delay that is none: %v, %v", got, err)
	}
}

func TestHTTPLogIsWhatMirrorTestsSearchFor(t *testing.T) {
	t.Parallel()
	w, pod := deploy(t, Sources{}, newDeployment("echo"))
	for _, path := range []string{"/mirror?requestId=1", "/other"} {
		if _, _, err := ask(t, pod, "3000", path, nil); err != nil {
			t.Fatal(err)
		}
	}
	text := string(w.Log("infra", pod.Name, time.Minute))
	if n := len(suitehttp.GetMirrorLogRegexp("/mirror?requestId=1").FindAllString(text, -1)); n != 1 {
		t.Errorf("found %d times in:\n%s", n, text)
	}
	if n := strings.Count(text, "\n"); n != 2 {
		t.Errorf("%d lines, not 2:\n%s", n, text)
	}
	if text := w.Log("infra", pod.Name, time.Nanosecond); len(text) != 0 {
		t.Errorf("of the last nanosecond: %s", text)
	}
	if text := w.Log("infra", "nobody", 0); text != nil {
		t.Errorf("of a pod that is none: %s", text)
	}
}

func TestHTTPWebSocketSendsBack(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("echo"))
	ws, err := websocket.Dial("ws://"+at(pod, "3000")+"/ws", "", "ws://gateway/test")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, message := range []any{"some text", []byte{1, 2, 3}} {
		if err := websocket.Message.Send(ws, message); err != nil {
			t.Fatal(err)
		}
		var got []byte
		if err := websocket.Message.Receive(ws, &got); err != nil {
			t.Fatal(err)
		}
		if want := message; string(got) != string(asBytes(want)) {
			t.Errorf("%v came back as %v", want, got)
		}
	}
}

func asBytes(message any) []byte {
	if text, ok := message.(string); ok {
		return []byte(text)
	}
	return message.([]byte)
}

// The suite makes Secrets after Deployments and replaces them: files are read at
// the handshake.
func TestHTTPSReadsItsFilesAtTheHandshake(t *testing.T) {
	t.Parallel()
	f := &files{}
	d := mountTLS(newDeployment("tls", "TLS_SERVER_CERT", "/etc/secret-volume/crt", "TLS_SERVER_PRIVKEY", "/etc/secret-volume/key"))
	w, pod := deploy(t, f.sources(), d)
	secure := func(certificate []byte) func(*roundtripper.Request) {
		return func(r *roundtripper.Request) {
			r.URL.Scheme, r.Protocol = "https", roundtripper.HTTPSProtocol
			r.ServerName, r.ServerCertificate = "abc.example.com", certificate
		}
	}
	for range 2 {
		certificate, key := newPair(t, "abc.example.com")
		if _, _, err := ask(t, pod, "8443", "/", secure(certificate)); err == nil {
			t.Error("it answered with a certificate that it does not have")
		}
		f.set(&f.secrets, "pair", map[string][]byte{"tls.crt": certificate, "tls.key": key})
		saw, _, err := ask(t, pod, "8443", "/", secure(certificate))
		if err != nil {
			t.Fatal(err)
		}
		if saw.TLS.Version != "TLSv1.3" || saw.TLS.ServerName != "abc.example.com" || saw.TLS.CipherSuite == "" || saw.HTTPPort != "3000" {
			t.Errorf("it saw %+v", saw.TLS)
		}
	}
	if text := string(w.Log("infra", pod.Name, 0)); !strings.Contains(text, "Secret infra/pair does not exist") {
		t.Errorf("the log does not tell why the first handshake failed:\n%s", text)
	}
}

func TestHTTPSVerifiesAClientCertificateIfGiven(t *testing.T) {
	t.Parallel()
	f, server := withPair(t, "abc.example.com")
	good, goodKey := newPair(t, "client")
	bad, badKey := newPair(t, "stranger")
	f.set(&f.configMap, "authority", map[string][]byte{"ca": good})
	_, pod := deploy(t, f.sources(), mountTLS(newDeployment("tls", "TLS_SERVER_CERT", "/etc/secret-volume/crt",
		"TLS_SERVER_PRIVKEY", "/etc/secret-volume/key", "TLS_CLIENT_CACERTS", "/etc/configmap-volume/ca")))
	seen := func(certificate, key []byte) ([]string, error) {
		saw, _, err := ask(t, pod, "8443", "/", func(r *roundtripper.Request) {
			r.URL.Scheme, r.Protocol = "https", roundtripper.H2Protocol
			r.ServerName, r.ServerCertificate = "abc.example.com", server
			r.GetClientCertificateHook = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if certificate == nil {
					return &tls.Certificate{}, nil
				}
				pair, err := tls.X509KeyPair(certificate, key)
				return &pair, err
			}
		})
		if err != nil {
			return nil, err
		}
		if saw.TLS.NegotiatedProtocol != "h2" {
			t.Errorf("ALPN gave %q", saw.TLS.NegotiatedProtocol)
		}
		return saw.TLS.PeerCertificates, nil
	}
	if got, err := seen(good, goodKey); err != nil || len(got) != 1 || got[0] != string(good) {
		t.Errorf("of a client that is known it saw %q, %v", got, err)
	}
	if got, err := seen(nil, nil); err != nil || len(got) != 0 {
		t.Errorf("of a client without certificate it saw %q, %v", got, err)
	}
	if got, err := seen(bad, badKey); err == nil {
		t.Errorf("it let a stranger in: %q", got)
	}
}

// What a pod had open ends with it, a WebSocket too.
func TestRemoveEndsConnections(t *testing.T) {
	t.Parallel()
	w, pod := deploy(t, Sources{}, newDeployment("removed"))
	ws, err := websocket.Dial("ws://"+at(pod, "3000")+"/ws", "", "ws://gateway/test")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	w.Remove("infra", "removed")
	if err := ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := ws.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection is still there: %v", err)
	}
	// Another pod may have the address by now.
	if saw, _, err := ask(t, pod, "3000", "/", nil); err == nil && saw.Pod == pod.Name {
		t.Error("it still answers")
	}
}
