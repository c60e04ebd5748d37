package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/translate/plan"
)

// TestMarkdownTextIsNoMarkup: nothing of a text is markup, a link, a mention or a reference.
func TestMarkdownTextIsNoMarkup(t *testing.T) {
	for text, want := range map[string]string{
		"_a_ *b* `c` |":            "&#95;a&#95; &#42;b&#42; &#96;c&#96; &#124;",
		"http://evil.test www.x.y": "http&#58;//evil.test w<!-- -->ww.x.y",
		"@team #1 a@b.test GH-12":  "&#64;<!-- -->team &#35;<!-- -->1 a&#64;<!-- -->b.test GH-<!-- -->12",
		":tada: port:80 !5 95% x":  "&#58;<!-- -->tada: port:80 &#33;<!-- -->5 95% x",
		"a\nb<script>":             "a b&#60;script&#62;",
		"shop.yaml:3:5, rule-1":    "shop.yaml&#58;<!-- -->3:5, rule-1",
	} {
		if got := markdownText(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

// TestMarkdownNamesAllKinds: also those of changes without a row.
func TestMarkdownNamesAllKinds(t *testing.T) {
	report := &planned{Report: &plan.Report{}}
	for i := range maxPlanned + 2 {
		report.Requests = append(report.Requests, plan.Change{
			Example: plan.Example{Method: "GET", URL: "http://a/"}, Before: plan.Answer{Status: 200}, After: plan.Answer{Status: 404},
			Regions: []plan.Region{{Host: fmt.Sprintf("h%d.test", i)}, {Host: fmt.Sprintf("other%d.test", i)}},
		})
	}
	page := planMarkdown(report)
	for i := range maxPlanned + 2 {
		for _, host := range []string{"h", "other"} {
			if !strings.Contains(page, fmt.Sprintf("%s%d.test on", host, i)) {
				t.Errorf("%s%d.test is not named", host, i)
			}
		}
	}
}

// TestMarkdownNamesIssuers: what rules of an issuer answer is not known, and a reviewer must see it.
func TestMarkdownNamesIssuers(t *testing.T) {
	page := planMarkdown(&planned{Report: &plan.Report{Unasked: []string{"issuer-of-shop"}}})
	if !strings.Contains(page, "Issuers that were not asked") || !strings.Contains(page, "issuer-of-shop") {
		t.Errorf("the issuer is not named:\n%s", page)
	}
}
