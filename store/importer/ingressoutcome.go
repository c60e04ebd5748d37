package importer

import (
	"cmp"
	"strings"
)

// redirectNames adds the hosts of the annotation from-to-www-redirect: the name with www. for a host without, and the
// name without it for a host with. Like ingress-nginx, it adds none that is the host of an Ingress, or an alias.
func (n *nginx) redirectNames() {
	for _, s := range n.redirecting {
		for _, to := range s.hosts {
			from, www := strings.CutPrefix(to, "www.")
			if !www {
				from = "www." + to
			}
			if to == "" || strings.HasPrefix(to, "*") || n.hosts[from] != nil || n.hosts.hasAlias(from) {
				continue
			}
			redirect := map[string]any{"hostname": to, "statusCode": int64(308)}
			host := n.hosts.get(from)
			host.certificate = n.hosts.get(to).certificate
			host.paths = []*ingressPath{{
				ingress: s.ingress, settings: &settings{report: s.report, ingress: s.ingress, redirect: redirect}, host: from,
				path: "/", pathType: "Prefix", field: join("metadata.annotations", nginxPrefix+"from-to-www-redirect"), backendTold: -1,
			}}
		}
	}
}

// passConnections finds the hosts whose connections ingress-nginx hands to a backend with their TLS (ssl-passthrough):
// those with the path /. Nothing that protects requests applies to such connections. If the flag
// --enable-ssl-passthrough was not set, TLS ended at the controller, and protection applied. So a host with protected
// paths answers 500.
func (n *nginx) passConnections() {
	for _, host := range n.hosts {
		for _, p := range host.paths {
			if p.settings.passthrough && p.path == "/" && p.closed == "" && host.name != "" {
				host.passthrough = p
			}
		}
		if host.passthrough == nil {
			continue
		}
		for _, p := range host.paths {
			if len(p.settings.policy) > 0 || p.settings.closed+p.closed != "" {
				host.closed = cmp.Or(host.closed, "ssl-passthrough of "+host.passthrough.ingress.name()+" hands over connections, and "+p.ingress.name()+" protects requests of the host, which would not be asked")
			}
		}
		if host.closed != "" {
			host.passthrough = nil
		}
	}
}

// outcomes corrects the verdicts of Ingresses whose rules are not written as the Ingress says: a verdict must not name
// a backend, a redirect or a rewrite that no rule has.
func (n *nginx) outcomes() {
	served := map[*settings]string{} // why no rule of the Ingress is served, "" if one is
	for _, p := range n.all {
		left := p.left
		if reason := cmp.Or(n.hosts.get(p.host).closed, p.closed, p.settings.closed); reason != "" && left == "" {
			left = "left out: the rule is closed"
		}
		if p.settings.redirect != nil {
			p.unreached = "no request gets there: all are redirected, as by ingress-nginx"
		}
		switch {
		case p.backendTold < 0:
		case left != "":
			n.verdicts[p.backendTold].Class, n.verdicts[p.backendTold].Message = Different, left
		case p.unreached != "":
			n.verdicts[p.backendTold].Message = p.unreached
		}
		if reason, known := served[p.settings]; !known || reason != "" {
			served[p.settings] = left
		}
	}
	for s, left := range served {
		for _, i := range s.ofRules {
			if left != "" {
				n.verdicts[i].Class, n.verdicts[i].Message = Different, left
			}
		}
	}
}
