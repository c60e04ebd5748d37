package store

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// codeNotRendered is the code of problems about values that another program should have filled in.
const codeNotRendered = "NotRendered"

// variableForm is one way to write a value that another program fills in, such as ${DOMAIN}. gatefold fills in none.
type variableForm struct {
	pattern *regexp.Regexp
	// state says in a message what is wrong. VARIABLE stands for the text that the pattern matches.
	state string
	// hint says what to do.
	hint string
}

const (
	notFilledIn = "the variable VARIABLE is not filled in"
	firstFill   = "gatefold fills in no variables: write the value, or let "
)

// variableForms are the forms that findVariable knows. The first one that matches counts.
var variableForms = []variableForm{
	{
		regexp.MustCompile(`\{\{.*?\}\}`), "the template VARIABLE is not rendered",
		"gatefold renders no templates: write the value, or render the template first (helm template, or the program that it is for), and put the result into the folder",
	},
	{
		regexp.MustCompile(`<path:[^<>\n]*>`), "the placeholder VARIABLE is not filled in",
		firstFill + "argocd-vault-plugin generate write the files of the folder",
	},
	{
		regexp.MustCompile(`\$\{\w+\}`), notFilledIn,
		firstFill + "envsubst (with Flux: postBuild.substitute) write the files of the folder",
	},
	{
		regexp.MustCompile(`\$\{[^{}\n]*\}`), notFilledIn,
		firstFill + "flux envsubst (with Flux: postBuild.substitute) write the files of the folder; plain envsubst knows no defaults",
	},
	{
		regexp.MustCompile(`\$\(\w+\)|%[A-Z_]%|%[A-Z0-9_]*[G-Z_][A-Z0-9_]*%|%[A-F][A-F0-9]{2,}%|#\{\w+\}#|\$[A-Z_][A-Z0-9_]*|@@\w+@@|__[A-Z][A-Z0-9_]*__|\[\[.*?\]\]`), notFilledIn,
		firstFill + "the program that knows such variables write the files of the folder",
	},
	{
		regexp.MustCompile(`<[A-Za-z][\w .-]*>`), "the placeholder VARIABLE is not filled in",
		"write the value in its place",
	},
}

// findVariable returns the first variable, template or placeholder in a text, and its form. The form is nil if there is
// none.
func findVariable(text string) (variable string, form *variableForm) {
	if !strings.ContainsAny(text, "{$<%@[_#") {
		return "", nil
	}
	for i := range variableForms {
		for _, at := range variableForms[i].pattern.FindAllStringIndex(text, -1) {
			if !isExpression(text[:at[0]], text[at[0]:at[1]]) {
				return text[at[0]:at[1]], &variableForms[i]
			}
		}
	}
	return "", nil
}

// isExpression reports whether a text that looks like a variable belongs to a regular expression: <name> of the group
// (?P<name>...), or [[:alpha:]]. The parameter before is the text before it.
func isExpression(before, variable string) bool {
	switch variable[0] {
	case '<':
		return strings.HasSuffix(before, "(?P") || strings.HasSuffix(before, "(?")
	case '[':
		return strings.HasPrefix(variable, "[[:")
	}
	return false
}

// mayBeVariable reports whether a variable in the value of a field may be what is wrong with the value. It is not in a
// template of transformation, which has {{ }} of its own, nor if the text is too long.
func mayBeVariable(code, field string) bool {
	return code != schema.TooLong && !strings.Contains(field, ".transformation.")
}

// message returns what is wrong with a value. The parameter variable is the text that the pattern matches. If it is "",
// the message does not show it.
func (f *variableForm) message(variable string) string {
	if variable != "" {
		variable = strings.ReplaceAll(clean(variable), `\"`, `"`)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(f.state, "VARIABLE", variable)), " ")
}

// nameVariables returns the findings about an object. A finding about a text with a variable says so, and says
// nothing else: what is wrong with the text as it is written does not matter. A hint to quote a number has the number as
// it is written. The parameter at is the object's path in
// the document.
func (d *documentReader) nameVariables(at fieldPath, object map[string]any, findings []schema.Finding) []schema.Finding {
	for i, f := range findings {
		if f.Warning || f.OfKey() {
			continue
		}
		_, value := descend(d.root, slices.Concat(at, parsePath(f.Field)))
		if value == nil || value.Kind != yaml.ScalarNode {
			continue
		}
		if strings.HasPrefix(f.Hint, schema.Quoted) { // 0755 is the number 493
			findings[i].Hint = schema.Quoted + strconv.Quote(value.Value)
		}
		if variable, form := findVariable(value.Value); form != nil && mayBeVariable(f.Code, f.Field) {
			if !d.shows(at, object) {
				variable = ""
			}
			findings[i] = schema.Finding{Code: codeNotRendered, Field: f.Field, Message: form.message(variable), Hint: form.hint}
		}
	}
	return findings
}

// variableHint returns what to do about a variable in the value at a node, a text or an object with texts such as a
// reference by name. It returns "" if there is no variable.
func variableHint(value *yaml.Node) string {
	if value == nil {
		return ""
	}
	texts := []*yaml.Node{value}
	if value.Kind == yaml.MappingNode {
		texts = value.Content
	}
	for _, text := range texts {
		if text.Kind != yaml.ScalarNode {
			continue
		}
		if variable, form := findVariable(text.Value); form != nil {
			return form.message(variable) + "; " + form.hint
		}
	}
	return ""
}

// variable sets the message and hint for a variable or template without quotes that YAML cannot read, such as ${PORT}
// between brackets. It also moves the mistake to the variable. It returns false if the line of the mistake has none.
func (m *mistake) variable() bool {
	outside := m.plainLine()
	variable, form := findVariable(outside)
	if form == nil || !strings.ContainsAny(variable[:1], "{$%@") {
		return false
	}
	at := strings.Index(outside, variable)
	variable = m.line[at : at+len(variable)]
	m.move(m.at - len(m.before) + at)
	m.Code, m.width = codeNotRendered, utf8.RuneCountInString(variable)
	hint := form.hint
	if variable[0] != '$' && strings.TrimSpace(m.before) != "" {
		hint += "; if it is text, put the whole value in quotes"
	}
	if secretive(m.text) {
		variable = ""
	}
	m.say(form.message(variable), hint)
	return true
}

// notPlain matches texts in quotes, and a comment.
var notPlain = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'|(?:^|[ \t])#.*`)

// plainLine returns the line of the mistake with blanks in place of its texts in quotes and its comment.
func (m *mistake) plainLine() string {
	return notPlain.ReplaceAllStringFunc(m.line, func(text string) string { return strings.Repeat(" ", len(text)) })
}

// withVariable returns a problem of translate with the hint about a variable in place of its own. An object that is
// called ${NAME} cannot be created. The parameter hint is "" if the field of the problem has no variable.
func withVariable(p manifest.Problem, hint string) manifest.Problem {
	if hint != "" && p.Severity == manifest.Error && mayBeVariable(p.Code, p.Field) {
		p.Hint = hint
	}
	return p
}
