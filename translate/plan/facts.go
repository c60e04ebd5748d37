package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// problems reports the problems that only one side has. It ignores the places of problems, because lines move
// without any other change.
func (c *comparison) problems() {
	c.report.Introduced = without(c.sides[1].Problems, c.sides[0].Problems)
	c.report.Fixed = without(c.sides[0].Problems, c.sides[1].Problems)
	for _, list := range []*[]manifest.Problem{&c.report.Introduced, &c.report.Fixed} {
		*list = slices.DeleteFunc(*list, func(p manifest.Problem) bool { return p.Code == LastGoodKept })
	}
}

// LastGoodKept is the code of the warning that earlier versions of objects are served. Report.Held says it for each object.
const LastGoodKept = "LastGoodKept"

// without returns the problems of the parameter list that the parameter others does not have. Problems are compared
// as unplaced returns them. If list has a problem more often than others, the surplus is in the result.
func without(list, others []manifest.Problem) (out []manifest.Problem) {
	known := map[manifest.Problem]int{}
	for _, p := range others {
		known[unplaced(p)]++
	}
	for _, p := range list {
		if known[unplaced(p)]--; known[unplaced(p)] < 0 {
			out = append(out, p)
		}
	}
	return out
}

// unplaced returns a problem without its place, for comparison. A problem of an object is identified by its
// code, severity, object and field. Any other problem is identified by its code, severity, file and message.
func unplaced(p manifest.Problem) manifest.Problem {
	if p.Object.IsZero() {
		return manifest.Problem{Code: p.Code, Severity: p.Severity, File: p.File, Message: p.Message}
	}
	return manifest.Problem{Code: p.Code, Severity: p.Severity, Object: p.Object, Field: p.Field}
}

// certificates reports the certificates of listeners that differ, by the key of their Secret.
func (c *comparison) certificates() {
	byKey := func(view *ir.View) map[manifest.Key]ir.Certificate {
		out := map[manifest.Key]ir.Certificate{}
		for _, one := range view.Certificates {
			out[one.Secret] = one
		}
		return out
	}
	before, after := byKey(c.sides[0].View), byKey(c.sides[1].View)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.SortedFunc(maps.Keys(keys), manifest.CompareKeys) {
		x, had := before[key]
		y, has := after[key]
		if had && has && x.Sum == y.Sum {
			continue
		}
		one := CertificateChange{Kind: kindOf(had, has), Object: key, Before: x.Sum, After: y.Sum, Names: y.Names, NotAfter: y.NotAfter.UTC().Format(time.DateOnly)}
		if !has {
			one.Names, one.NotAfter = x.Names, x.NotAfter.UTC().Format(time.DateOnly)
		}
		c.report.Certificates = append(c.report.Certificates, one)
	}
}

// kindOf returns the Kind of a difference. The parameter inOld says whether the old configuration has the value, and
// inNew says whether the new configuration has it.
func kindOf(inOld, inNew bool) Kind {
	switch {
	case !inOld:
		return Added
	case !inNew:
		return Removed
	}
	return Changed
}

// resources reports, for each type, how many Envoy resources differ.
func (c *comparison) resources() {
	type resource struct{ gateway, kind, name string }
	versions := [2]map[resource]string{{}, {}}
	all := map[resource]bool{}
	for side, list := range [][]Resource{c.sides[0].Resources, c.sides[1].Resources} {
		for _, r := range list {
			key := resource{r.Gateway, r.Type[strings.LastIndexByte(r.Type, '.')+1:], r.Name}
			versions[side][key], all[key] = r.Version, true
		}
	}
	counts := map[string]*ResourceChange{}
	for key := range all {
		x, had := versions[0][key]
		y, has := versions[1][key]
		if x == y {
			continue
		}
		if counts[key.kind] == nil {
			counts[key.kind] = &ResourceChange{Type: key.kind}
		}
		switch one := counts[key.kind]; kindOf(had, has) {
		case Added:
			one.Added++
		case Removed:
			one.Removed++
		default:
			one.Changed++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c.report.Resources = append(c.report.Resources, *counts[kind])
	}
}
