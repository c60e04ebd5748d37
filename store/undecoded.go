package store

import (
	"github.com/gatefold/gatefold/store/manifest"
)

// decode parses the document and returns its value, and the mistakes for which it must not be read. The value is nil
// if the document is empty or cannot be parsed. It sets syntax to the parser's error.
func (d *documentReader) decode() (value any, mistakes []finding) {
	if p, unfit := unfitText(d.text); unfit {
		return nil, []finding{{Problem: p}}
	}
	root, err := parseYAML(d.text)
	if err != nil {
		d.syntax = err
		return nil, nil
	}
	if root == nil {
		return nil, nil
	}
	correctLines(root, d.text)
	d.root = root
	return decodeYAML(root)
}

// unread reports why the document cannot be parsed, if it is not empty. The parameter mistakes has the problems of a
// text that was not given to the parser. If the text is that of another program, the document becomes foreign, and
// the report is in doubt.
func (d *documentReader) unread(mistakes []finding) {
	if d.syntax == nil && len(mistakes) == 0 {
		return
	}
	if (d.syntax != nil || mistakes[0].Code == "DocumentTooLarge") && isForeignText(d.text) {
		d.foreign = append(d.foreign, foreign{place: place{line: 1, column: 1}})
		if d.doubt = mistakes; d.syntax != nil {
			d.doubt = []finding{nameSyntax(d.syntax)}
		}
		d.syntax = nil
		return
	}
	for _, p := range mistakes {
		d.fail(p)
	}
	d.broken, d.unparsed = true, true
	if w := wordsOf(d.text); w != nil {
		d.unreadable = append(d.unreadable, w)
	}
}

// notAnObject returns the problem of a document whose value is no object.
func (d *documentReader) notAnObject(value any) finding {
	return finding{Problem: manifest.Problem{
		Code: "NotAnObject", Line: d.root.Line, Column: d.root.Column,
		Message: "the document is " + describe(value) + ", not an object",
		Hint:    "an object begins with apiVersion:, kind: and metadata:; write --- between objects, not a list",
	}}
}
