package pods

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func newService(name, app string, ports ...corev1.ServicePort) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name}}
	s.Spec.Ports = ports
	if app != "" {
		s.Spec.Selector = map[string]string{"app": app}
	}
	return s
}

func replicas(d *appsv1.Deployment, n int32) *appsv1.Deployment {
	d.Spec.Replicas = &n
	return d
}

func mustDeploy(t *testing.T, w *World, d *appsv1.Deployment) {
	t.Helper()
	if err := w.Deploy(d); err != nil {
		t.Fatal(err)
	}
}

func names(pods []*corev1.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// addressesOf gives the lines "slice: address:port …" of a list.
func addressesOf(list []*discoveryv1.EndpointSlice) map[string][]string {
	out := map[string][]string{}
	for _, slice := range list {
		service := slice.Labels[discoveryv1.LabelServiceName]
		out[service] = append(out[service], []string{}...)
		for _, port := range slice.Ports {
			for _, e := range slice.Endpoints {
				out[service] = append(out[service], fmt.Sprintf("%s %s:%d", *port.Name, e.Addresses[0], *port.Port))
			}
		}
	}
	return out
}

func TestPodsAreReadyAndNamedAfterTheirDeployment(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t, Sources{})
	mustDeploy(t, w, replicas(newDeployment("infra-backend-v1"), 2))
	other := newDeployment("other")
	other.Namespace = "elsewhere"
	mustDeploy(t, w, other)
	if all, some := w.Pods(""), w.Pods("infra"); len(all) != 3 || len(some) != 2 {
		t.Fatalf("%v of all namespaces, %v of infra", names(all), names(some))
	}
	pattern := regexp.MustCompile(`^infra-backend-v1-[a-z0-9]+-[a-z0-9]+$`)
	seen := map[string]bool{}
	for _, p := range w.Pods("infra") {
		if !pattern.MatchString(p.Name) || p.Labels["app"] != "infra-backend-v1" || p.UID == "" || p.Kind != "Pod" {
			t.Errorf("pod %s %s, labels %v", p.Kind, p.Name, p.Labels)
		}
		ready := false
		for _, c := range p.Status.Conditions {
			ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if p.Status.Phase != corev1.PodRunning || !ready {
			t.Errorf("pod %s: %+v", p.Name, p.Status)
		}
		if ip := net.ParseIP(p.Status.PodIP); ip == nil || seen[p.Status.PodIP] || len(p.Status.PodIPs) != 1 || p.Status.PodIPs[0].IP != p.Status.PodIP {
			t.Errorf("pod %s has %s, %v", p.Name, p.Status.PodIP, p.Status.PodIPs)
		}
		seen[p.Status.PodIP] = true
	}
}

func TestDeployKeepsWhatHasNotChanged(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t, Sources{})
	w.Service(newService("shop", "shop", corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(3000)}))
	mustDeploy(t, w, replicas(newDeployment("shop"), 2))
	two, calls := names(w.Pods("")), out.calls

	mustDeploy(t, w, replicas(newDeployment("shop"), 2))
	if got := names(w.Pods("")); fmt.Sprint(got) != fmt.Sprint(two) || out.calls != calls {
		t.Errorf("the same again: %v became %v, slices handed out %d times more", two, got, out.calls-calls)
	}
	mustDeploy(t, w, replicas(newDeployment("shop"), 3))
	if three := names(w.Pods("")); len(three) != 3 || fmt.Sprint(three[:2]) != fmt.Sprint(two) {
		t.Errorf("one more: %v became %v", two, three)
	}
	mustDeploy(t, w, replicas(newDeployment("shop"), 1))
	if one := names(w.Pods("")); len(one) != 1 || one[0] != two[0] {
		t.Errorf("two less: %v", one)
	}
	mustDeploy(t, w, newDeployment("shop", "SERVICE_NAME", "new"))
	pods := w.Pods("")
	if len(pods) != 1 || pods[0].Name == two[0] {
		t.Fatalf("another template: %v", names(pods))
	}
	if got := addressesOf(out.list)["shop"]; len(got) != 1 || got[0] != " "+at(pods[0], "3000") {
		t.Errorf("endpoints are %q, the pod has %s", got, pods[0].Status.PodIP)
	}
	if _, _, err := ask(t, pods[0], "3000", "/", nil); err != nil {
		t.Error(err)
	}
}

func TestDeployErrorsLeaveWhatWasThere(t *testing.T) {
	t.Parallel()
	w, pod := deploy(t, Sources{}, newDeployment("shop"))
	image, field, two := newDeployment("shop"), newDeployment("shop"), newDeployment("shop")
	image.Spec.Template.Spec.Containers[0].Image = "example.com/shop:1"
	field.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath = "spec.serviceAccountName"
	two.Spec.Template.Spec.Containers = append(two.Spec.Template.Spec.Containers, corev1.Container{})
	port := newDeployment("shop", "H2C_PORT", "3000") // the port of HTTP
	for want, d := range map[string]*appsv1.Deployment{
		`no program stands in for image "example.com/shop:1"`: image,
		`field "spec.serviceAccountName" is not known`:        field,
		`one container here, not 2`:                           two,
		`address already in use`:                              port,
	} {
		if err := w.Deploy(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if got, _, err := ask(t, pod, "3000", "/", nil); err != nil || got.Pod != pod.Name {
		t.Errorf("%v, %v", got, err)
	}
}

// Others on this machine may run the suite too.
func TestPodsPassOverAddressesThatAreTaken(t *testing.T) {
	t.Parallel()
	w, first := deploy(t, Sources{}, newDeployment("first"))
	rival, _ := newWorld(t, Sources{})
	mustDeploy(t, rival, replicas(newDeployment("second"), 2))
	for _, p := range rival.Pods("") {
		if p.Status.PodIP == first.Status.PodIP {
			t.Errorf("%s and %s share %s", p.Name, first.Name, p.Status.PodIP)
		}
		if got, _, err := ask(t, p, "3000", "/", nil); err != nil || got.Pod != p.Name {
			t.Errorf("%s: %v, %v", p.Name, got, err)
		}
	}
	mustDeploy(t, w, newDeployment("third"))
	if pods := w.Pods(""); len(pods) != 2 || pods[0].Status.PodIP == pods[1].Status.PodIP {
		t.Errorf("two pods: %v", pods)
	}
}

func TestSlicesFollowServicesAndPods(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t, Sources{})
	http2 := "kubernetes.io/h2c"
	w.Service(newService("shop", "shop",
		corev1.ServicePort{Name: "first", Port: 8080, TargetPort: intstr.FromInt32(3000)},
		corev1.ServicePort{Name: "second", Port: 8081, TargetPort: intstr.FromString("h2c"), AppProtocol: &http2},
		corev1.ServicePort{Name: "same", Port: 3000},
		corev1.ServicePort{Name: "dns", Port: 53, TargetPort: intstr.FromInt32(5353), Protocol: corev1.ProtocolUDP},
		corev1.ServicePort{Name: "nowhere", Port: 1, TargetPort: intstr.FromString("unknown")},
	))
	if got := out.list; len(got) != 1 || len(got[0].Endpoints) != 0 {
		t.Fatalf("before there is a pod: %v", got)
	}
	d := newDeployment("shop")
	d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "h2c", ContainerPort: 3001}}
	mustDeploy(t, w, d)
	pod := w.Pods("")[0]
	ip := pod.Status.PodIP
	want := fmt.Sprintf("[first %s:3000 second %s:3001 same %s:3000 dns %s:5353]", ip, ip, ip, ip)
	if got := fmt.Sprint(addressesOf(out.list)["shop"]); got != want {
		t.Errorf("endpoints %s, want %s", got, want)
	}
	slice := out.list[0]
	if *slice.Ports[0].Protocol != corev1.ProtocolTCP || *slice.Ports[3].Protocol != corev1.ProtocolUDP || *slice.Ports[1].AppProtocol != http2 {
		t.Errorf("ports %v", slice.Ports)
	}
	if e := slice.Endpoints[0]; !*e.Conditions.Ready || e.TargetRef.Name != pod.Name || slice.AddressType != discoveryv1.AddressTypeIPv4 {
		t.Errorf("%s endpoint %v", slice.AddressType, e)
	}

	headless := newService("headless", "shop", corev1.ServicePort{Port: 8080, TargetPort: intstr.FromInt32(3000)})
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	w.Service(headless) // two Services of one Deployment
	w.Service(newService("manual", "", corev1.ServicePort{Port: 8080}))
	got := addressesOf(out.list)
	if _, touched := got["manual"]; touched || len(got) != 2 || len(got["headless"]) != 1 {
		t.Errorf("slices %v", got)
	}

	w.Remove("infra", "shop")
	if got := addressesOf(out.list); len(got) != 2 || len(got["shop"])+len(got["headless"]) != 0 {
		t.Errorf("after the Deployment: %v", got)
	}
	w.RemoveService("infra", "shop")
	w.RemoveService("infra", "headless")
	if len(out.list) != 0 {
		t.Errorf("after the Services: %v", out.list)
	}
}

func TestAServiceSelectsInItsOwnNamespace(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t, Sources{})
	mustDeploy(t, w, newDeployment("shop"))
	elsewhere := newService("shop", "shop", corev1.ServicePort{Port: 3000})
	elsewhere.Namespace = "elsewhere"
	w.Service(elsewhere)
	if len(out.list) != 1 || len(out.list[0].Endpoints) != 0 {
		t.Errorf("slices %v", out.list)
	}
}

// A rollout may leave pods whose ports of one name differ.
func TestPodsWithOtherPortsGetASliceOfTheirOwn(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t, Sources{})
	w.Service(newService("shop", "shop", corev1.ServicePort{Name: "web", Port: 80, TargetPort: intstr.FromString("http")}))
	for name, number := range map[string]int32{"blue": 3000, "green": 4000} {
		d := newDeployment(name, "HTTP_PORT", fmt.Sprint(number))
		d.Spec.Template.Labels = map[string]string{"app": "shop"}
		d.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: number}}
		mustDeploy(t, w, d)
	}
	if len(out.list) != 2 || out.list[0].Name >= out.list[1].Name {
		t.Fatalf("slices %v", out.list)
	}
	for _, p := range w.Pods("") {
		port := fmt.Sprint(p.Spec.Containers[0].Ports[0].ContainerPort)
		if got := fmt.Sprint(addressesOf(out.list)["shop"]); !strings.Contains(got, "web "+at(p, port)) {
			t.Errorf("%s is not in %s", at(p, port), got)
		}
		if got, _, err := ask(t, p, port, "/", nil); err != nil || got.HTTPPort != port {
			t.Errorf("%s: %v, %v", p.Name, got, err)
		}
	}
}

func TestCloseEndsTheWorld(t *testing.T) {
	t.Parallel()
	w, pod := deploy(t, Sources{}, newDeployment("closed"))
	w.Close()
	w.Close()
	if saw, _, err := ask(t, pod, "3000", "/", nil); err == nil && saw.Pod == pod.Name {
		t.Error("it still answers")
	}
	if err := w.Deploy(newDeployment("shop")); err == nil {
		t.Error("a closed world takes a Deployment")
	}
	if pods := w.Pods(""); len(pods) != 0 {
		t.Errorf("pods %v", names(pods))
	}
}

func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	l := &lines{}
	for n := range maxLines + 1 {
		l.printf("%d", n)
	}
	text := string(l.since(0))
	if first, _, _ := strings.Cut(text, "\n"); first != fmt.Sprint(maxLines/2) || !strings.HasSuffix(text, fmt.Sprintf("\n%d\n", maxLines)) {
		t.Errorf("it begins with %s and has %d lines", first, strings.Count(text, "\n"))
	}
}

// Addresses come round again: one that a pod has is passed over, even where the
// ports would not meet.
func TestTwoPodsNeverShareAnAddress(t *testing.T) {
	t.Parallel()
	w, first := deploy(t, Sources{}, newDeployment("first", "UDP_ECHO_SERVER", "1"))
	w.addresses.last = net.ParseIP(first.Status.PodIP).To4()[3] - 1
	mustDeploy(t, w, newDeployment("second", "HTTP_PORT", "13000", "H2C_PORT", "13001"))
	if pods := w.Pods(""); pods[0].Status.PodIP == pods[1].Status.PodIP {
		t.Errorf("both have %s", first.Status.PodIP)
	}
}
