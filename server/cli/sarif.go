package cli

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/gatefold/gatefold/store/codes"
	"github.com/gatefold/gatefold/store/manifest"
)

// formatSARIF is SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0). Code scanners and editors read
// it. The output contains no line of a file, because a line could be part of a Secret.
const formatSARIF outputFormat = "sarif"

// The objects of SARIF that gatefold writes, with the names of the specification.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		Full             sarifText `json:"fullDescription"`
		Help             sarifText `json:"help"`
		HelpURI          string    `json:"helpUri"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// projectURL is the URL of the gatefold project.
const projectURL = "https://github.com/gatefold/gatefold"

// sarifOf returns problems as a SARIF log with one run. Each problem code is a rule.
func sarifOf(problems []manifest.Problem) sarifLog {
	rules, results := []sarifRule{}, []sarifResult{}
	for _, p := range problems {
		index := slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == p.Code })
		if index < 0 {
			index = len(rules)
			rules = append(rules, ruleOf(p.Code))
		}
		results = append(results, resultOf(p, index))
	}
	return sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{
			Tool: sarifTool{sarifDriver{
				Name: "gatefold", Version: readBuild().Version, InformationURI: projectURL, Rules: rules,
			}},
			ColumnKind: "unicodeCodePoints",
			Results:    results,
		}},
	}
}

// ruleOf returns the SARIF rule for a problem code, with cause and fix from its documentation. Its short
// description is the code in words, such as "Unknown field" for UnknownField.
func ruleOf(code string) sarifRule {
	entry, _ := codes.Find(code)
	return sarifRule{
		ID:               code,
		ShortDescription: sarifText{codeWords(code)},
		Full:             sarifText{cmp.Or(entry.Cause, codeWords(code))},
		Help:             sarifText{cmp.Or(entry.Fix, "Each result says what to do.")},
		HelpURI:          codes.URL(code),
	}
}

// codeWords returns the words of a code in sentence case. Abbreviations stay unchanged.
func codeWords(code string) string {
	var words strings.Builder
	runes := []rune(code)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			words.WriteByte(' ')
			if i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
				r = unicode.ToLower(r)
			}
		}
		words.WriteRune(r)
	}
	return words.String()
}

// resultOf returns the SARIF result for a problem. The parameter rule is the index of the SARIF rule for the code
// of the problem.
func resultOf(p manifest.Problem, rule int) sarifResult {
	result := sarifResult{RuleID: p.Code, RuleIndex: rule, Level: string(p.Severity), Message: sarifText{p.Message}}
	if p.Hint != "" {
		result.Message.Text += "; " + p.Hint
	}
	location := sarifLocation{}
	if p.File != "" {
		location.Physical = &sarifPhysical{Artifact: artifactOf(p.File), Region: regionOf(p)}
	}
	if !p.Object.IsZero() {
		name := p.Object.String()
		if p.Field != "" {
			name += ", " + p.Field
		}
		location.Logical = []sarifLogical{{Name: name, Kind: "object"}}
	}
	if location.Physical != nil || location.Logical != nil {
		result.Locations = []sarifLocation{location}
	}
	return result
}

// artifactOf returns the location of a file: its path from the root of the source tree, or a file URI for an
// absolute path.
func artifactOf(file string) sarifArtifact {
	if path.IsAbs(file) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: file}).String()}
	}
	return sarifArtifact{URI: strings.TrimPrefix((&url.URL{Path: file}).String(), "./"), Base: "%SRCROOT%"}
}

// regionOf returns the line of a problem and the columns that the carets of its excerpt mark. It returns nil if
// the line is not known.
func regionOf(p manifest.Problem) *sarifRegion {
	if p.Line == 0 {
		return nil
	}
	region := &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
	if _, marks, ok := strings.Cut(p.Excerpt, "\n"); ok && p.Column > 0 {
		region.EndColumn = p.Column + strings.Count(marks, "^")
	}
	return region
}
