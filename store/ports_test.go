package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/watcher"
)

// opensPorts is a Gateway or ListenerSet of a namespace.
func opensPorts(kind, namespace, name string, ports ...int) string {
	spec := "gatewayClassName: gatefold"
	if kind == "ListenerSet" {
		spec = "parentRef: {name: edge, namespace: infra}"
	}
	var listeners []string
	for _, port := range ports {
		listeners = append(listeners, fmt.Sprintf("{name: l%d, port: %d, protocol: TCP}", port, port))
	}
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s\n  namespace: %s\nspec:\n  %s\n  listeners: [%s]\n",
		kind, name, namespace, spec, strings.Join(listeners, ", "))
}

// granted is a Namespace with files and ports.
func granted(name, paths, ports string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n  annotations: {gatefold.io/paths: %q, gatefold.io/gateway-ports: %q}\n", name, paths, ports)
}

func TestPortsOfNamespaces(t *testing.T) {
	base := files{
		"platform/s.yaml": space("infra", "platform/**") + "---\n" + space("shop", "shop/**") + "---\n" + granted("edge", "edge/**", "8443, 9000-9100"),
		"platform/g.yaml": opensPorts("Gateway", "infra", "edge", 80),
		"edge/g.yaml":     opensPorts("Gateway", "edge", "mine", 8443, 9050),
	}
	const start = "+edge +edge +infra +mine +shop"
	for name, steps := range map[string][]struct {
		tree files
		want string
	}{
		"a team without ports has no Gateways": {
			{base, start},
			{base.with(files{"shop/g.yaml": opensPorts("Gateway", "shop", "a", 80)}), "PortNotAllowed"},
			{base.with(files{"shop/g.yaml": opensPorts("Gateway", "shop", "a", 9050)}), "PortNotAllowed"},
			{base.with(files{"shop/g.yaml": opensPorts("ListenerSet", "shop", "a", 80)}), "PortNotAllowed"},
			{base.with(files{"shop/g.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(opensPorts("Gateway", "shop", "a", 80), "\n", "\n  ")}), "PortNotAllowed"},
			{base.with(files{"platform/shop.yaml": opensPorts("Gateway", "shop", "a", 80)}), "OutsideFence"},
		},
		"nor at a start": {
			{base.with(files{"shop/g.yaml": opensPorts("Gateway", "shop", "a", 80)}), start + " PortNotAllowed"},
		},
		"ports outside of the grant": {
			{base.with(files{"edge/x.yaml": opensPorts("Gateway", "edge", "x", 9100, 9101)}), start + " PortNotAllowed"},
			{base.with(files{"edge/x.yaml": opensPorts("ListenerSet", "edge", "x", 80)}), "PortNotAllowed"},
			{base.with(files{"edge/x.yaml": opensPorts("ListenerSet", "edge", "x", 9000)}), "+x"},
		},
		"an edit that asks for more leaves the last valid version": {
			{base, start},
			{base.with(files{"edge/g.yaml": opensPorts("Gateway", "edge", "mine", 8443, 80)}), "LastGoodKept PortNotAllowed"},
			{base, ""},
		},
		"a grant that shrinks is in force at once": {
			{base, start},
			{base.with(files{"platform/s.yaml": strings.Replace(base["platform/s.yaml"], "9000-9100", "9000", 1)}), "+edge -mine PortNotAllowed"},
			{base, "+edge +mine"},
			{base.with(files{"edge/g.yaml": "kind: ["}), "InvalidYAML LastGoodKept"},
			{base.with(files{"edge/g.yaml": "kind: [", "platform/s.yaml": strings.Replace(base["platform/s.yaml"], "9000-9100", "9000", 1)}), "+edge -mine InvalidYAML"},
		},
		"a grant that cannot be read leaves the last one in force": {
			{base, start},
			{base.with(files{"platform/s.yaml": strings.Replace(base["platform/s.yaml"], "9000-9100", "0-70000", 1)}), "InvalidValue LastGoodKept"},
		},
		"two definitions of a Namespace give what both do": {
			{base.with(files{"platform/t.yaml": granted("edge", "edge/**", "1-65535"), "edge/x.yaml": opensPorts("Gateway", "edge", "x", 80)}), start + " Conflict PortNotAllowed"},
		},
		"a port belongs to one namespace, whoever opens it first": {
			{base, start},
			{base.with(files{"platform/t.yaml": granted("zed", "zed/**", "9000-9999")}), "+zed PortShared"},
			{base.with(files{"platform/t.yaml": granted("zed", "zed/**", "9000-9999"), "zed/g.yaml": opensPorts("Gateway", "zed", "x", 9050), "zed/h.yaml": opensPorts("Gateway", "zed", "fine", 9500)}), "+fine PortNotAllowed PortShared"},
			{base.with(files{"platform/t.yaml": granted("zed", "zed/**", "9000-9999"), "edge/g.yaml": "", "zed/g.yaml": opensPorts("Gateway", "zed", "x", 9050), "zed/h.yaml": opensPorts("Gateway", "zed", "fine", 9500)}), "-mine PortNotAllowed PortShared"},
			{base.with(files{"platform/s.yaml": strings.Replace(base["platform/s.yaml"], "9000-9100", "9000", 1), "platform/t.yaml": granted("zed", "zed/**", "9001-9999"), "edge/g.yaml": "", "zed/g.yaml": opensPorts("Gateway", "zed", "x", 9050)}), "+edge +x +zed -fine"},
		},
		"a Gateway may leave its team's files for those of the platform": {
			{base, start},
			{base.with(files{"edge/g.yaml": "", "platform/s.yaml": strings.Replace(base["platform/s.yaml"], "edge/**", "edge/**, platform/**", 1), "platform/e.yaml": opensPorts("Gateway", "edge", "mine", 8443, 80)}), "+edge +mine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fenced(t)
			for i, step := range steps {
				if got := sortedSummary(s.Apply(treeOf(step.tree))); got != sortedWords(step.want) {
					t.Errorf("step %d: got %q, want %q", i, got, sortedWords(step.want))
				}
			}
		})
	}
}

// TestAPortOutsideIsToldWithItsPlace names the listener in the newcomer's file.
func TestAPortOutsideIsToldWithItsPlace(t *testing.T) {
	c := fenced(t).Apply(treeOf(files{
		"platform/s.yaml": granted("edge", "edge/**", "8443"), "edge/g.yaml": "# a comment\n---\n" + opensPorts("Gateway", "edge", "mine", 8443, 80),
	}))
	p := c.Problems[0]
	if len(c.Problems) != 1 || p.File != "edge/g.yaml" || p.Line != 10 || p.Field != "spec.listeners[1].port" || !strings.Contains(p.Message, "its ports are 8443") ||
		!strings.Contains(p.Excerpt, "port: 80") || !strings.Contains(p.Hint, "gatefold.io/gateway-ports of Namespace edge") {
		t.Errorf("%+v", c.Problems)
	}
}

// TestSources says where objects come from, in a moved file, a kept object and a restart.
func TestSources(t *testing.T) {
	tree := files{"platform/s.yaml": space("open", ""), "a.yaml": in("open", "a", "/1"), "platform/b.yaml": in("open", "b", "/1")}
	options := Options{Save: true, ClusterPaths: tenancy.Globs{"platform/**"}}
	sources := func(s *Store) string {
		var text strings.Builder
		for _, o := range s.serving.objects() {
			if o.Key.Kind == "HTTPRoute" {
				fmt.Fprintf(&text, "%s=%d ", o.Key.Name, o.Source)
			}
		}
		return text.String()
	}
	s, saved := newStore(t, options), ledger{}
	s.Apply(treeOf(tree))
	saved.take(s)
	if got := sources(s); got != "a=2 b=1 " {
		t.Error(got)
	}
	if got := sources(saved.restart(t, options)); got != "a=2 b=1 " {
		t.Error("restored:", got)
	}
	moved := tree.with(files{"a.yaml": "", "platform/b.yaml": "", "platform/a.yaml": in("open", "a", "/1"), "b.yaml": in("open", "b", "/1")})
	if c := s.Apply(treeOf(moved)); sortedSummary(c) != "+a=/1 +b=/1" || sources(s) != "a=1 b=2 " {
		t.Error("moved:", summary(c), sources(s))
	}
	if c := s.Apply(treeOf(tree.with(files{"a.yaml": in("open", "b", "no-slash"), "platform/b.yaml": "", "platform/a.yaml": in("open", "a", "/1")}))); sources(s) != "a=1 b=2 " {
		t.Error("moved and broken:", summary(c), sources(s))
	}
	plain := newStore(t, Options{})
	plain.Apply(treeOf(tree))
	if got := sources(plain); got != "a=0 b=0 " {
		t.Error("without path policies:", got)
	}
}

// TestSkippedDirectories skips a directory in which a file of cluster paths may lie.
func TestSkippedDirectories(t *testing.T) {
	base := files{"conf/platform/s.yaml": space("shop", "shop/**") + "---\n" + space("blog", "blog/**"), "shop/a.yaml": in("shop", "a", "/1"), "blog/b.yaml": in("blog", "b", "/1")}
	evil := files{"shop/a.yaml": base["shop/a.yaml"], "evil.yaml": in("blog", "x", "/1"), "conf/other.yaml": in("shop", "z", "/1")}
	for _, globs := range []string{"conf/platform/**", "conf/platform/*.yaml", "conf/platform/s.yaml", "**/platform/*.yaml", "*/platform/s.yaml", "conf/**/s.yaml"} {
		cluster, err := tenancy.Parse(globs)
		if err != nil {
			t.Fatal(err)
		}
		options := Options{Save: true, ClusterPaths: cluster}
		for path, held := range map[string]bool{"conf": true, "conf/platform": true, "shop/x": strings.HasPrefix(globs, "**/"), "plat.yaml": false} {
			s, saved := newStore(t, options), ledger{}
			tree := treeOf(evil)
			tree.Skipped = []watcher.Skip{{Path: path, Reason: watcher.Unreadable, Detail: "permission denied"}}
			if held {
				for range 2 {
					if c := s.Apply(tree); !strings.Contains(summary(c), "HOLD ClusterPathsBroken") || len(c.Set) > 0 {
						t.Errorf("%s: %s is skipped at a start: %s", globs, path, summary(c))
					}
				}
			}
			if got := sortedSummary(s.Apply(treeOf(base))); got != "+a=/1 +b=/1 +blog +shop" {
				t.Errorf("%s: %s is back: %s", globs, path, got)
			}
			saved.take(s)
			again := saved.restart(t, options)
			if !strings.HasPrefix(path, "conf") {
				continue
			}
			for i, want := range []string{"+a=/1 +b=/1 +blog +shop OutsideFence OutsideFence Unreadable", ""} {
				tree.Files = treeOf(evil.with(files{"blog/b.yaml": base["blog/b.yaml"]})).Files
				if got := sortedSummary(again.Apply(tree)); i == 0 && got != want || i > 0 && strings.Contains(got, "+") {
					t.Errorf("%s: %s is skipped after a restart: %s", globs, path, got)
				}
			}
			if got := sortedSummary(again.Apply(treeOf(base.with(files{"conf/platform/s.yaml": space("shop", "shop/**")})))); !strings.HasPrefix(got, "-b -blog") {
				t.Errorf("%s: %s is back after a restart: %s", globs, path, got)
			}
		}
	}
}
