package xds

import (
	"fmt"
	"strings"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// CheckExtras tells what Envoy would refuse of a policy by itself; problems name
// fields of the policy. Policies that pass may be merged: that makes nothing new.
func CheckExtras(policy manifest.Key, extras *ir.Extras) []manifest.Problem {
	c := checker{rule: &ir.Rule{Source: &ir.Origin{Key: policy}}}
	c.changes("spec.transformation.request", extras.Request)
	c.changes("spec.transformation.response", extras.Response)
	c.headers("spec.headerModifiers.request", extras.RequestHeaders)
	c.headers("spec.headerModifiers.response", extras.ResponseHeaders)
	if extras.CSRF != nil {
		c.matches("spec.csrf.additionalOrigins", extras.CSRF.Origins)
	}
	for i, hash := range extras.Hash {
		if hash.Cookie != nil {
			at := fmt.Sprintf("spec.hashPolicies[%d].cookie", i)
			c.cookieText(at+".name", hash.Cookie.Name)
			c.cookieText(at+".path", hash.Cookie.Path)
		}
	}
	c.extensions(extras)
	if len(c.problems) == 0 {
		c.messages(extras)
	}
	return c.problems
}

// changes checks the steps of a transformation. The n-th of a kind is the n-th of
// the list of that name.
func (c *checker) changes(at string, changes []ir.HeaderChange) {
	seen := map[ir.ChangeKind]int{}
	for _, change := range changes {
		field := fmt.Sprintf("%s.%s[%d]", at, [...]string{"set", "add", "remove"}[change.Kind], seen[change.Kind])
		seen[change.Kind]++
		name := field
		if change.Kind != ir.RemoveHeader {
			name += ".name"
		}
		if strings.HasPrefix(change.Name, ":") {
			c.refuse(name, fmt.Sprintf("%s is not a header: a transformation cannot change it", change.Name),
				"use the filter URLRewrite for host and path")
			continue
		}
		c.changedName(name, change.Name, change.Kind == ir.RemoveHeader)
		c.template(field+".value", change.Value)
		if value, _ := format(change.Value, false); len(value) > maxHeaderValue {
			c.refuse(field+".value", fmt.Sprintf("the value is %d bytes long, over the limit of %d", len(value), maxHeaderValue), "shorten it")
		}
	}
}

// template checks the text of a template, that inside its functions too.
func (c *checker) template(field string, template ir.Template) {
	for _, expr := range template {
		c.headerValue(field, expr.Text)
		c.template(field, expr.Args)
	}
}

func (c *checker) matches(at string, list []ir.StringMatch) {
	for i, match := range list {
		field := fmt.Sprintf("%s[%d]", at, i)
		if match.Kind == ir.StringRegex {
			c.regex(field+".safeRegex", match.Value)
		} else {
			c.text(field, match.Value)
		}
	}
}

func (c *checker) cookieText(field, text string) {
	c.text(field, text)
	if strings.ContainsAny(text, ";\"") {
		c.refuse(field, fmt.Sprintf("%q cannot be part of a cookie", shorten(text)), "leave out semicolons and quotes")
	}
}

// messages makes the filters' messages and looks at their constraints.
func (c *checker) messages(extras *ir.Extras) {
	for _, filter := range configurable() {
		c.message(filter.Route(extras))
	}
	for _, filter := range extensionFilters() {
		c.message(filter.config(extras))
	}
}

func (c *checker) message(config message) {
	if config == nil {
		return
	}
	if err := config.ValidateAll(); err != nil {
		c.refuse("spec", "Envoy does not accept this object: "+strings.ReplaceAll(err.Error(), "\n", "; "), "change the named value")
	}
}
