package pods

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	pb "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/tcpserver"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/udpechoserver"
	suitegrpc "sigs.k8s.io/gateway-api/conformance/utils/grpc"
)

func TestGRPCEchoesWhatItSaw(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("grpc", "GRPC_ECHO_SERVER", "1", "SERVICE_NAME", "calls"))
	client := &suitegrpc.DefaultClient{}
	defer client.Close()
	call := func(expected suitegrpc.ExpectedResponse) *suitegrpc.Response {
		expected.RequestMetadata = &suitegrpc.RequestMetadata{Authority: "grpc.example.com", Metadata: map[string]string{"x-one": "1"}}
		got, err := client.SendRPC(t, at(pod, "3000"), expected, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for method, expected := range map[string]suitegrpc.ExpectedResponse{
		"Echo":    {EchoRequest: &pb.EchoRequest{}},
		"EchoTwo": {EchoTwoRequest: &pb.EchoRequest{}},
	} {
		saw := call(expected).Response.GetAssertions()
		if want := "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/" + method; saw.GetFullyQualifiedMethod() != want {
			t.Errorf("it saw %s, not %s", saw.GetFullyQualifiedMethod(), want)
		}
		if saw.GetAuthority() != "grpc.example.com" || !strings.Contains(fmt.Sprint(saw.GetHeaders()), "x-one") || saw.GetTlsAssertions() != nil {
			t.Errorf("it saw %v", saw)
		}
		if about := saw.GetContext(); about.GetPod() != pod.Name || about.GetNamespace() != "infra" || about.GetServiceName() != "calls" {
			t.Errorf("it was %v", about)
		}
	}
	if code := call(suitegrpc.ExpectedResponse{EchoThreeRequest: &pb.EchoRequest{}}).Code; code != codes.Unimplemented {
		t.Errorf("EchoThree: %s", code)
	}
}

func TestGRPCWithTLS(t *testing.T) {
	t.Parallel()
	f, certificate := withPair(t, "grpc.example.com")
	_, pod := deploy(t, f.sources(), mountTLS(newDeployment("grpc", "GRPC_ECHO_SERVER", "1",
		"TLS_SERVER_CERT", "/etc/secret-volume/crt", "TLS_SERVER_PRIV_KEY", "/etc/secret-volume/key")))
	to := credentials.NewTLS(&tls.Config{ServerName: "grpc.example.com", RootCAs: poolOf(t, certificate)})
	connection, err := grpc.NewClient(at(pod, "8443"), grpc.WithTransportCredentials(to))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	got, err := pb.NewGrpcEchoClient(connection).Echo(t.Context(), &pb.EchoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	saw := got.GetAssertions().GetTlsAssertions()
	if saw.GetVersion() != "TLSv1.3" || saw.GetNegotiatedProtocol() != "h2" || saw.GetServerName() != "grpc.example.com" {
		t.Errorf("it saw %v", saw)
	}
}

func poolOf(t *testing.T, certificate []byte) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		t.Fatal("no certificate")
	}
	return pool
}

// talk reads the greeting, sends lines and gives one answer for each that has one.
func talk(t *testing.T, to net.Conn, lines string, answers int) []string {
	t.Helper()
	defer to.Close()
	if err := to.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(to)
	if greeting, err := from.ReadString('\n'); err != nil || greeting != tcpserver.WelcomeMessage {
		t.Fatalf("greeting %q, %v", greeting, err)
	}
	if _, err := fmt.Fprint(to, lines); err != nil {
		t.Fatal(err)
	}
	var out []string
	for range answers {
		answer, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSuffix(answer, "\n"))
	}
	return out
}

func TestTCPAnswersLines(t *testing.T) {
	t.Parallel()
	f, certificate := withPair(t, "abc.example.com")
	_, pod := deploy(t, f.sources(), mountTLS(newDeployment("tcp", "TCP_ECHO_SERVER", "1", "SERVICE_NAME", "lines",
		"TLS_SERVER_CERT", "/etc/secret-volume/crt", "TLS_SERVER_PRIV_KEY", "/etc/secret-volume/key")))
	plain, err := net.Dial("tcp", at(pod, "3000"))
	if err != nil {
		t.Fatal(err)
	}
	secure, err := tls.Dial("tcp", at(pod, "8443"), &tls.Config{ServerName: "abc.example.com", RootCAs: poolOf(t, certificate)})
	if err != nil {
		t.Fatal(err)
	}
	for isTLS, to := range map[string]net.Conn{"false": plain, "true": secure} {
		got := talk(t, to, "hello\nPING\nIS_TLS\nTEST\n", 3)
		if got[0] != "PONG" || got[1] != isTLS {
			t.Errorf("TLS %s: it answered %q", isTLS, got)
		}
		var about tcpserver.TCPAssertions
		if err := json.Unmarshal([]byte(got[2]), &about); err != nil {
			t.Fatal(err)
		}
		if about.Pod != pod.Name || about.Namespace != "infra" || about.Service != "lines" || about.TCPPort != "3000" || fmt.Sprint(about.IsTLS) != isTLS {
			t.Errorf("TLS %s: it was %+v", isTLS, about)
		}
		if isTLS == "true" && (about.TLSAssertion.ServerName != "abc.example.com" || about.TLSAssertion.Version != "TLS 1.3") {
			t.Errorf("it saw %+v", about.TLSAssertion)
		}
	}
}

func TestUDPEchoes(t *testing.T) {
	t.Parallel()
	_, pod := deploy(t, Sources{}, newDeployment("udp", "UDP_ECHO_SERVER", "1", "SERVICE_NAME", "datagrams"))
	var got udpechoserver.EchoResponse
	if err := json.Unmarshal(exchange(t, at(pod, "8080"), []byte("hello\n")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Request != "hello\n" || got.Pod != pod.Name || got.Namespace != "infra" || got.Service != "datagrams" {
		t.Errorf("it answered %+v", got)
	}
}

func exchange(t *testing.T, address string, datagram []byte) []byte {
	t.Helper()
	to, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if err := to.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(datagram); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1<<16)
	n, err := to.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer[:n]
}

func TestDNSAnswers(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t, Sources{})
	d := newDeployment("coredns")
	d.Spec.Template.Spec.Containers[0].Image = "registry.k8s.io/coredns/coredns:v1.12.2"
	if err := w.Deploy(d); errors.Is(err, os.ErrPermission) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	pod := w.Pods("infra")[0]
	got, err := dns.Exchange(new(dns.Msg).SetQuestion("foo.bar.com.", dns.TypeA), at(pod, "53"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Answer) != 1 || got.Answer[0].(*dns.A).A.String() != pod.Status.PodIP {
		t.Errorf("it answered %v", got)
	}
}
