package translate_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// spreading is a folder of a Gateway with many listeners, a sound route of two
// hosts on one of them, and n routes of hosts hostnames and 112 matches that are
// attached to all.
func spreading(n, listeners, hosts int) map[string]string {
	files := map[string]string{}
	var gateway strings.Builder
	gateway.WriteString("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\nspec:\n  gatewayClassName: gatefold\n  listeners:\n")
	for i := range listeners {
		fmt.Fprintf(&gateway, "  - {name: l%d, port: %d, protocol: HTTP}\n", i, 8000+i)
	}
	files["gateway.yaml"] = gateway.String()
	files["sound.yaml"] = soundSpread("/sound")
	for i := range n {
		files[fmt.Sprintf("aa%d.yaml", i)] = spreadRoute(fmt.Sprintf("aa%d", i), hosts, 16, 7)
	}
	return files
}

func soundSpread(path string) string {
	return strings.ReplaceAll(spreadRoute("sound", 2, 1, 1), "/0/0", path)
}

func spreadRoute(name string, hosts, rules, matches int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s}\nspec:\n  parentRefs: [{name: eg}]\n  hostnames:\n", name)
	for i := range hosts {
		fmt.Fprintf(&b, "  - %s-%d.example.com\n", name, i)
	}
	b.WriteString("  rules:\n")
	for i := range rules {
		b.WriteString("  - filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example.com}}]\n    matches:\n")
		for j := range matches {
			fmt.Fprintf(&b, "    - path: {value: /%d/%d}\n", i, j)
		}
	}
	return b.String()
}

// copies counts what stands in all tables, and what of it is the sound route's.
func (w *world) copies() (all, sound int) {
	for _, gateway := range w.view().Gateways {
		for _, port := range gateway.Ports {
			for _, host := range port.Hosts {
				all += host.Len
				if strings.HasPrefix(host.Domain, "sound-") {
					sound += host.Len
				}
			}
		}
	}
	return all, sound
}

// TestCopiesAreBounded: a few routes on many hosts and ports do not fill the
// tables without bound; those that fit serve, and the sound one does not notice.
func TestCopiesAreBounded(t *testing.T) {
	w := newWorld(t)
	files := spreading(10, 64, 16) // 1,146,880 copies
	if problems := problemsText(w.apply(tree(files))); strings.Count(problems, "error TooManyCopies spec.parentRefs") != 10 {
		t.Errorf("problems: %s", problems)
	}
	if all, sound := w.copies(); all > 100_000 || sound != 128 {
		t.Errorf("%d copies, %d of the sound route", all, sound)
	}
	if text := w.statusText(); strings.Count(text, "TooManyCopies") != 10 {
		t.Error("the status does not tell of it")
	}
	w.checkCold(t)

	files["sound.yaml"] = soundSpread("/other")
	w.apply(tree(files))
	if ran := len(w.rebuilt); ran == 0 || ran > 6*130 {
		t.Errorf("for an edit of a route in 128 tables, %d rules ran", ran)
	}
	w.checkCold(t)
}

// TestCopiesOfChildrenCount: what a route hands on stands in its tables, too; and a
// route that serves nowhere is no way around the bound on what it hands on to.
func TestCopiesOfChildrenCount(t *testing.T) {
	w := newWorld(t)
	files := spreading(0, 64, 0)
	root := spreadRoute("root", 16, 1, 1)
	to := `backendRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: "*"}]`
	root = strings.Replace(root, "filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example.com}}]", to, 1)
	files["root.yaml"] = strings.Replace(root, "/0/0", "/", 1)
	for i := range 9 {
		name := fmt.Sprintf("child%d", i)
		child := spreadRoute(name, 0, 16, 7)
		child = strings.Replace(child, "  hostnames:\n", "", 1)
		files[name+".yaml"] = strings.Replace(child, "parentRefs: [{name: eg}]", "parentRefs: [{kind: HTTPRoute, group: gateway.networking.k8s.io, name: root}]", 1)
	}
	if problems := problemsText(w.apply(tree(files))); !strings.Contains(problems, "root.yaml:4:9 error TooManyCopies") && !strings.Contains(problems, "TooManyCopies spec.parentRefs") {
		t.Errorf("problems: %s", problems)
	}
	if all, sound := w.copies(); all > 10_000 || sound != 128 {
		t.Errorf("%d copies, %d of the sound route", all, sound)
	}
	w.checkCold(t)
	files["root.yaml"] = strings.Replace(files["root.yaml"], "{name: eg}", "{name: eg, sectionName: l3}", 1)
	if problems := problemsText(w.apply(tree(files))); strings.Contains(problems, "TooManyCopies") {
		t.Errorf("mended: %s", problems)
	}
	if all, _ := w.copies(); all < 16*9*112 {
		t.Errorf("only %d copies", all)
	}
	w.checkCold(t)
}

// TestWhatIsCutFollowsEdits: which routes serve is a matter of the folder, not of
// what it was before; one in few tables is never cut, whatever its name and age.
func TestWhatIsCutFollowsEdits(t *testing.T) {
	w := newWorldWith(t, translate.Options{MaxCopies: 7500})
	files := spreading(2, 40, 1)
	if problems := w.apply(tree(files)); len(problems) != 1 || problems[0].Code != "TooManyCopies" || problems[0].Object.Name != "aa1" {
		t.Fatalf("%+v", problems)
	}
	files["aa1.yaml"] = spreadRoute("aa1", 1, 2, 7)
	if problems := w.apply(tree(files)); len(problems) != 0 {
		t.Errorf("mended: %s", problemsText(problems))
	}
	w.checkCold(t)
	files["aa1.yaml"] = spreadRoute("aa1", 8, 16, 7)
	if problems := w.apply(tree(files)); len(problems) != 1 {
		t.Errorf("again: %s", problemsText(problems))
	}
	w.checkCold(t)
	files["aa2.yaml"] = strings.Replace(spreadRoute("aa2", 16, 16, 7), "{name: eg}", "{name: eg, sectionName: l3}, {name: eg, sectionName: l4}", 1)
	for _, p := range w.apply(tree(files)) {
		if p.Object.Name == "aa2" || p.Severity != manifest.Error {
			t.Errorf("%+v", p)
		}
	}
	w.checkCold(t)
	delete(files, "aa1.yaml")
	if problems := w.apply(tree(files)); len(problems) != 0 {
		t.Errorf("removed: %s", problemsText(problems))
	}
	w.checkCold(t)
}

// BenchmarkCopies is the cold start of the folder of TestCopiesAreBounded. The goal
// is at most 2 s of CPU and 256 MB (docs/design/safety.md).
func BenchmarkCopies(b *testing.B) {
	w := newWorld(b)
	w.apply(tree(spreading(10, 64, 7))) // one of them fits
	objects := w.present()
	b.ReportAllocs()
	begin := cpuTime(b)
	for b.Loop() {
		translate.New(translate.Options{Bind: bind}).Apply(objects)
	}
	b.ReportMetric((cpuTime(b)-begin).Seconds()/float64(b.N), "cpu-s/op")
}

// cpuTime is what the process has used so far, on all cores.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
