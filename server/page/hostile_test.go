package page_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"
)

// What a page may have of HTML. Everything else comes from somebody else's text.
var (
	elements = strings.Fields("html head meta title link script body a header nav p main footer h1 h2 h3 section dl div dt dd ul ol li table thead " +
		"tbody tr th td span code pre details summary form label input textarea button em time small")
	attributes = strings.Fields("lang charset name content rel href src defer class id aria-label aria-labelledby aria-current role tabindex data-live data-label " +
		"scope colspan open required size method action value placeholder autocomplete spellcheck rows datetime type")
	link = regexp.MustCompile(`^(/$|/page/|#|/\?|https://github\.com/gatefold/gatefold/blob/main/docs/reference/problems\.md(#[a-z0-9]*)?$)`)
)

// checkHTML fails for an element, an attribute or a link that no template has, and for a character that cannot be seen.
func checkHTML(t *testing.T, path, page string) {
	t.Helper()
	for _, r := range page {
		if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
			t.Errorf("%s has the character %U", path, r)
		}
	}
	tokens, scripts := html.NewTokenizer(strings.NewReader(page)), 0
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		switch token.Type {
		case html.CommentToken:
			t.Errorf("%s has a comment: %s", path, token)
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
		default:
			continue
		}
		if !slices.Contains(elements, token.Data) {
			t.Errorf("%s has the element %s", path, token)
		}
		if token.Data == "script" {
			scripts++
		}
		for _, a := range token.Attr {
			if !slices.Contains(attributes, a.Key) {
				t.Errorf("%s has the attribute %s", path, token)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") && !link.MatchString(a.Val) {
				t.Errorf("%s has the link %s", path, token)
			}
		}
	}
	if scripts > 1 {
		t.Errorf("%s has %d scripts", path, scripts)
	}
}

// attacks are texts that would do something in HTML, in an attribute, in a link, in script or in the order of writing.
var attacks = []string{
	`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' autofocus onfocus='alert(1)`,
	`javascript:alert(1)`, `</title><script>alert(1)</script>`, `--><b>`, `{{.}}`, "\u202egpj.exe\u2066", "a\x1b[31mred", "\u200b\u00ad\ufeff", "&lt;b&gt;&#x3c;b>",
}

// Names of files, objects and fields, messages and questions are shown as what they are: text.
func TestHostileTextsAreText(t *testing.T) {
	files := map[string]string{"shop.yaml": shop}
	for i, attack := range attacks {
		quoted := "'" + strings.ReplaceAll(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, attack), "'", "''") + "'"
		files[strings.ReplaceAll(attack, "/", "_")+".yaml"] = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: h" + string(rune('a'+i)) + ", namespace: team}\n" +
			"spec:\n  parentRefs: [{name: edge, namespace: platform, sectionName: " + quoted + "}]\n  hostnames: [" + quoted + "]\n  " + quoted + ": 1\n  rules:\n  - name: " + quoted + "\n    " + quoted + ": {" + quoted + ": " + quoted + "}\n" +
			"---\napiVersion: " + quoted + "\nkind: HTTPRoute\nmetadata: {name: " + quoted + ", namespace: " + quoted + "}\n" +
			"---\napiVersion: v1\nkind: Service\nmetadata: {name: " + quoted + "}\n" +
			"---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: v" + string(rune('a'+i)) + ", namespace: platform, annotations: {a: " + quoted + "}}\nspec:\n" +
			"  parentRefs: [{name: edge}]\n  rules:\n  - name: r\n    matches: [{headers: [{name: x-a, value: " + quoted + "}]}]\n" +
			"    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: x-b, value: " + quoted + "}]}}]\n    backendRefs: [{name: gone, port: 80}]\n"
	}
	s := serve(t, files)
	shown := words(s.get("/page/problems") + s.get("/page/problems?from=50") + s.get("/page/problems?from=100") + s.get("/page/problems?from=150"))
	for _, text := range []string{`<script>alert(1)<`, `<img src=x onerror=alert(1)>`, `\u202egpj.exe`} {
		if !strings.Contains(shown, text) {
			t.Errorf("%q is not shown", text)
		}
	}
	paths := []string{"/", "/page/routes", "/page/problems", "/page/problems?from=50", "/page/edits", "/page/routes?from=20", "/page/endpoints", "/page/certificates"}
	for i, attack := range attacks {
		q := url.QueryEscape(attack)
		paths = append(paths, "/page/routes?host="+q, "/page/routes?path=/"+q, "/page/routes?namespace="+q, "/page/routes?route=a/"+q, "/page/routes?route="+q,
			"/page/routes?from="+q, "/page/problems?namespace="+q, "/page/"+url.PathEscape(attack), "/page/object?kind="+q, "/page/object?kind=HTTPRoute&group="+q+"&namespace=a&name=b",
			"/page/object?kind=HTTPRoute&group=gateway.networking.k8s.io&namespace="+q+"&name="+q,
			"/page/explain?method="+q+"&url="+q+"&from="+q+"&gateway="+q+"&headers="+q, "/page/explain?url=http://shop.example.com:8080/"+q, "/page/explain?url=http://shop.example.com:8080/&headers=x-a:"+q,
			"/page/object?kind=HTTPRoute&group=gateway.networking.k8s.io&namespace=team&name=h"+string(rune('a'+i)),
			"/page/object?kind=HTTPRoute&group=gateway.networking.k8s.io&namespace=platform&name=v"+string(rune('a'+i)))
	}
	for _, path := range paths {
		_, page := s.try(path)
		checkHTML(t, path, page)
		if len(page) > 300_000 {
			t.Errorf("%s has %d bytes", path, len(page))
		}
	}
}
