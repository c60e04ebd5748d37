package envoytest

import (
	"net/http"
	"net/url"
	"strings"
)

// The functions of this file answer Envoy like the products of docs/guides/sign-in.md. Each product has one
// user, alice, whose browser has a session cookie.

// oauth2Proxy answers like oauth2-proxy with the options upstreams static://200, set-xauthrequest,
// reverse-proxy and skip-provider-button. Everybody may open the pages of oauth2-proxy itself, such as
// /oauth2/sign_in.
func oauth2Proxy(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	switch path := r.URL.Path; {
	case path == "/ping" || path == "/ready" || path == "/robots.txt" || path == "/oauth2/sign_in":
		_, _ = w.Write([]byte("OK"))
		return
	case path == "/oauth2/callback":
		headers.Add("Set-Cookie", "_oauth2_proxy=alice; Path=/; HttpOnly")
		http.Redirect(w, r, "/", http.StatusFound)
		return
	case path == "/oauth2/start":
		toProvider(w, r, r.URL.Query().Get("rd"))
		return
	}
	if cookie, err := r.Cookie("_oauth2_proxy"); err != nil || cookie.Value != "alice" {
		if strings.Contains(r.Header.Get("Accept"), "application/json") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		back := r.Header.Get("X-Auth-Request-Redirect")
		if back == "" {
			back = r.URL.RequestURI()
		}
		toProvider(w, r, back)
		return
	}
	headers.Add("Set-Cookie", "_oauth2_proxy=alice; Path=/; HttpOnly")
	headers.Set("X-Auth-Request-User", "alice")
	headers.Set("X-Auth-Request-Email", "alice@example.com")
	_, _ = w.Write([]byte("Authenticated"))
}

// toProvider redirects a browser to the identity provider. The parameter back is the URL that the browser wanted to
// open. The query parameter state contains this URL.
func toProvider(w http.ResponseWriter, r *http.Request, back string) {
	w.Header().Add("Set-Cookie", "_oauth2_proxy_csrf=n; Path=/; HttpOnly")
	http.Redirect(w, r, "https://idp.example/authorize?state=n:"+url.QueryEscape(back), http.StatusFound)
}

// authelia answers like Authelia's endpoint /api/authz/ext-authz/, and answers 404 to other paths. A request
// without X-Forwarded-Proto gets 400. With a session, a path that begins with /admin gets 403, and other paths get
// 200. Without a session, a browser (which accepts text/html) is redirected, and other clients get 401.
func authelia(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	path, found := strings.CutPrefix(r.RequestURI, "/api/authz/ext-authz/")
	scheme := r.Header.Get("X-Forwarded-Proto")
	switch {
	case !found:
		w.WriteHeader(http.StatusNotFound)
		return
	case scheme == "":
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	target := scheme + "://" + r.Host + "/" + strings.TrimPrefix(path, "/")
	cookie, err := r.Cookie("authelia_session")
	switch {
	case err == nil && cookie.Value == "alice" && strings.HasPrefix(strings.TrimPrefix(path, "/"), "admin"):
		w.WriteHeader(http.StatusForbidden)
	case err == nil && cookie.Value == "alice":
		headers.Set("Remote-User", "alice")
		headers.Set("Remote-Groups", "staff")
		headers.Set("Remote-Name", "Alice")
		headers.Set("Remote-Email", "alice@example.com")
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		status := http.StatusFound
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			status = http.StatusSeeOther
		}
		headers.Add("Set-Cookie", "authelia_session=new; Path=/; HttpOnly")
		headers.Set("Location", "https://auth.example.com/?rd="+url.QueryEscape(target)+"&rm="+r.Method)
		w.WriteHeader(status)
	default:
		headers.Set("WWW-Authenticate", `Basic realm="Authorization Required"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// authentik answers like an outpost of Authentik. At /outpost.goauthentik.io/auth/envoy followed by the path of
// the request, it answers 200 with a session, and otherwise redirects to its page start. The page start redirects
// to Authentik itself. The page callback begins a session. Other paths get 404.
func authentik(w http.ResponseWriter, r *http.Request) {
	headers := w.Header()
	path, found := strings.CutPrefix(r.RequestURI, "/outpost.goauthentik.io/auth/envoy")
	switch cookie, err := r.Cookie("authentik_proxy"); {
	case !found && strings.HasPrefix(r.URL.Path, "/outpost.goauthentik.io/callback"):
		headers.Add("Set-Cookie", "authentik_proxy=alice; Path=/; HttpOnly")
		http.Redirect(w, r, "/", http.StatusFound)
	case !found && strings.HasPrefix(r.URL.Path, "/outpost.goauthentik.io/start"):
		http.Redirect(w, r, "https://authentik.example.com/application/o/authorize/", http.StatusFound)
	case !found:
		w.WriteHeader(http.StatusNotFound)
	case err == nil && cookie.Value == "alice":
		headers.Set("X-Authentik-Username", "alice")
		headers.Set("X-Authentik-Groups", "staff|admins")
		headers.Set("X-Authentik-Email", "alice@example.com")
		w.WriteHeader(http.StatusOK)
	default:
		headers.Add("Set-Cookie", "authentik_proxy=new; Path=/; HttpOnly")
		headers.Set("Location", "http://"+r.Host+"/outpost.goauthentik.io/start?rd="+url.QueryEscape("http://"+r.Host+path))
		w.WriteHeader(http.StatusFound)
	}
}
