package manifest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns the problem as text for a terminal:
//
//	routes/shop.yaml:12:9: error: UnknownField: spec.rules[0] has no field "pathh"
//	   |
//	12 |         pathh: /shop
//	   |         ^^^^^
//	   = in HTTPRoute default/shop, spec.rules[0].matches[0].pathh
//	   = help: did you mean "path"?
//
// The text ends with a newline. If color is true, it contains ANSI escape sequences. Characters from the user's
// files that are not printable are shown as U+FFFD.
func (p Problem) Text(color bool) string {
	paint := painter(color)
	var b strings.Builder
	if p.File != "" {
		b.WriteString(paint(bold, printable(p.Position())) + ": ")
	}
	style := red
	if p.Severity == Warning {
		style = yellow
	}
	b.WriteString(paint(style, string(p.Severity)) + ": " + paint(bold, printable(p.Code+": "+p.Message)) + "\n")
	number := ""
	if p.Line > 0 {
		number = fmt.Sprint(p.Line)
	}
	margin := strings.Repeat(" ", utf8.RuneCountInString(number))
	if line, marks, ok := strings.Cut(p.Excerpt, "\n"); ok {
		b.WriteString(paint(blue, margin+" |") + "\n")
		b.WriteString(paint(blue, number+" |") + " " + line + "\n")
		b.WriteString(paint(blue, margin+" |") + " " + paint(style, marks) + "\n")
	}
	if subject := p.subject(); subject != "" {
		b.WriteString(margin + paint(blue, " =") + " in " + printable(subject) + "\n")
	}
	if p.Hint != "" {
		b.WriteString(margin + paint(blue, " =") + " help: " + printable(p.Hint) + "\n")
	}
	return b.String()
}

// Shorten returns text if it has at most 80 bytes. Otherwise it returns about the first 80 bytes, without a
// part of a character at the end, followed by "…". It is for texts that a message quotes.
func Shorten(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// printable returns text with U+FFFD in place of each character that is not printable.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Position returns file:line:column. It leaves out the column or the line if they are 0.
func (p Problem) Position() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// subject returns the object and the field, as far as they are known. It returns "" if neither is known.
func (p Problem) subject() string {
	switch {
	case p.Object.IsZero() && p.Field != "":
		return "field " + p.Field
	case p.Object.IsZero():
		return ""
	case p.Field == "":
		return p.Object.String()
	}
	return p.Object.String() + ", " + p.Field
}

type style string

const (
	bold   style = "\x1b[1m"
	red    style = "\x1b[1;31m"
	yellow style = "\x1b[1;33m"
	blue   style = "\x1b[34m"
)

// painter returns a function that adds the escape sequences of a style to a text. If color is false, the
// function returns the text unchanged.
func painter(color bool) func(style, string) string {
	return func(s style, text string) string {
		if !color || text == "" {
			return text
		}
		return string(s) + text + "\x1b[0m"
	}
}
