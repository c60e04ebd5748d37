package expect

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ir"
)

// Name is the name of a test file, without its folder. A file with the extension ".requests", such as
// "shop.requests", is a test file, too.
const Name = "requests"

// IsFile reports whether a file contains tests. name is its name without the folder.
func IsFile(name string) bool { return name == Name || path.Ext(name) == "."+Name }

// InvalidTest is the code of the problem of a line that cannot be read, or that names a Gateway that does not exist.
const InvalidTest = "InvalidTest"

const (
	form     = "METHOD URL [NAME:VALUE]… -> OUTCOME [| DETAIL]…"
	helpForm = "write it as: " + form
)

// mistake is the error of a line: the wrong word, what is wrong, and what to do. word is "" if no single word
// is wrong.
type mistake struct {
	word, message, hint string
}

func (m *mistake) Error() string { return m.message + "; " + m.hint }

// Parse reads a file of tests. Empty lines and lines that begin with # are no tests. For a line that cannot be
// read, it returns a problem with the place of the wrong word. It returns the requests of all other lines.
func Parse(file string, text []byte) (requests []Request, problems []manifest.Problem) {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if number == 1 {
			trimmed = strings.TrimPrefix(trimmed, "\ufeff")
		}
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		request, err := parseLine(trimmed)
		request.File, request.Number = file, number
		request.indent = utf8.RuneCountInString(line) - utf8.RuneCountInString(strings.TrimLeft(line, " \t\ufeff"))
		if err == nil {
			requests = append(requests, request)
			continue
		}
		wrong := new(mistake)
		if !errors.As(err, &wrong) {
			wrong = &mistake{message: err.Error(), hint: helpForm}
		}
		problems = append(problems, manifest.Problem{
			Code: InvalidTest, Severity: manifest.Error, File: file, Line: number, Column: column(line, wrong.word),
			Message: wrong.message, Hint: wrong.hint,
		})
	}
	return requests, problems
}

// column returns the column of a word in a line, in characters from 1. If the word is "", or the line does not
// contain it, column returns the column of the first character that is not a space.
func column(line, word string) int {
	before, _, found := strings.Cut(line, word)
	if !found || word == "" {
		before = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	}
	return utf8.RuneCountInString(before) + 1
}

// parseLine returns the request of a line without spaces at its ends. It returns an error if the line is wrong.
func parseLine(line string) (Request, error) {
	r := Request{
		Line: line, Headers: http.Header{}, Backends: map[string]int{},
		Mirrors: map[string]int{}, ToBackend: map[string]string{}, Answer: map[string]string{},
	}
	question, answer, ok := strings.Cut(line, " -> ")
	switch {
	case !utf8.ValidString(line):
		return r, &mistake{"", "the line is not valid UTF-8", "save the file as UTF-8"}
	case !ok && strings.HasSuffix(line, "->"):
		return r, &mistake{"->", "the line has no outcome behind ->", "write what must happen: a backend, a status, or closed"}
	case !ok:
		return r, &mistake{"", "the line has no outcome: it lacks -> with a space on both sides", helpForm}
	case strings.Contains(answer, " -> "):
		return r, &mistake{"", "the line has a second ->", "write one request on a line"}
	}
	if err := r.parseQuestion(question); err != nil {
		return r, err
	}
	parts := strings.Split(answer, " | ")
	if err := r.parseOutcome(strings.Fields(parts[0])); err != nil {
		return r, err
	}
	known := map[string]bool{}
	for _, detail := range parts[1:] {
		detail = strings.TrimSpace(detail)
		if err := r.parseDetail(detail); err != nil {
			return r, err
		}
		if about := aboutOf(detail); known[about] {
			return r, &mistake{detail, fmt.Sprintf("the line has a second %q", about), "leave one of them out"}
		} else {
			known[about] = true
		}
	}
	return r, r.checkWhole()
}

// parseQuestion sets in r what a line says before "->": method, URL, headers and options. It returns a mistake
// if that text is wrong.
func (r *Request) parseQuestion(text string) error {
	if strings.Count(text, `"`)%2 != 0 {
		return &mistake{`"`, "a quotation mark has no end", `write a value with spaces as NAME:"VALUE"`}
	}
	words := fields(text)
	if len(words) > 0 && strings.Contains(words[0], "://") {
		words = slices.Insert(words, 0, "")
	}
	if len(words) < 2 {
		return &mistake{"", "the line names no URL", helpForm}
	}
	if err := r.parseURL(words[0], words[1]); err != nil {
		return err
	}
	for _, word := range words[2:] {
		name, value, ok := strings.Cut(word, ":")
		if !ok {
			return &mistake{word, fmt.Sprintf("%q is no header and no option", word), `write NAME:VALUE without a space behind the colon, or NAME:"VALUE" for a value with spaces`}
		}
		if err := r.parseWord(word, name, value); err != nil {
			return err
		}
	}
	return nil
}

// fields splits a text at its spaces, except at those between quotation marks.
func fields(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return (c == ' ' || c == '\t') && !quoted
	})
}

// parseURL sets Method, URL, Target, SNI and Authority. The parameter text is the URL as it is written. parseURL
// keeps the path unchanged, with "//" and "..". It returns a mistake if the method or the URL is wrong.
func (r *Request) parseURL(method, text string) error {
	authority, rest, found := strings.Cut(text, "://")
	target := "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		target, rest = rest[i:], rest[:i]
	}
	if strings.HasPrefix(target, "?") {
		target = "/" + target
	}
	u, err := url.Parse(authority + "://" + rest)
	if err != nil || !found || u.Hostname() == "" {
		return &mistake{text, fmt.Sprintf("%q is not a URL", text), "write it with scheme and host, such as http://shop.example.com:8080/cart"}
	}
	r.Method, r.URL, r.Target, r.SNI, r.Authority = method, u, target, u.Hostname(), u.Host
	schemes := []string{"http", "https", "tcp", "tls", "udp"}
	switch port, err := portOf(u); {
	case !slices.Contains(schemes, u.Scheme):
		return &mistake{text, fmt.Sprintf("%q is no scheme of a test", u.Scheme), "use " + strings.Join(schemes, ", ")}
	case err != nil || port == 0 && r.Connection():
		return &mistake{text, fmt.Sprintf("%q names no port", text), fmt.Sprintf("add the port of the listener: %s://%s:PORT", u.Scheme, u.Hostname())}
	case r.Connection() && method != "":
		return &mistake{method, fmt.Sprintf("a connection has no method, and the line begins with %s", method), "begin the line with the URL"}
	case !r.Connection() && method == "":
		return &mistake{text, "the request has no method", "begin the line with GET or another method"}
	case !r.Connection() && !ir.IsToken(method):
		return &mistake{method, fmt.Sprintf("%q is not a method", method), "begin the line with GET or another method"}
	case strings.ToUpper(method) != method:
		return &mistake{method, fmt.Sprintf("%q is in lower case, and methods are in capitals", method), "write " + strings.ToUpper(method)}
	}
	return nil
}

// checkWhole returns a mistake if parts of the line contradict each other, or if all weights of backends are 0.
// Otherwise it returns nil.
func (r *Request) checkWhole() error {
	forwarded := len(r.Backends) > 0
	switch {
	case !forwarded && (r.Path != "" || r.Host != "" || len(r.ToBackend) > 0 || r.Protocol != ""):
		return &mistake{"|", "the line expects no backend, and says what a backend receives", "leave path, host, protocol and request out, or name the backend"}
	case forwarded && r.By.Kind != "":
		return &mistake{"| by", "the line expects a backend, and an object that denies the request", "name the status, such as 403, in place of the backend"}
	case forwarded && slices.Max(slices.Collect(maps.Values(r.Backends))) == 0:
		return &mistake{"->", "all weights are 0", "leave out what gets no requests"}
	}
	return nil
}
