package store

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// InternalError is the code of a problem that is a bug in gatefold, and no mistake of the user.
const InternalError = "InternalError"

// ReportHint is the hint of problems with the code InternalError.
const ReportHint = "please report it; gatefold tries again when the object changes and at a restart"

// PanickedAt returns the innermost places of gatefold's code on the stack, such as "explain/build.go:274". The
// parameter most is the maximum number of places. Only a deferred function that recovers may call it.
func PanickedAt(most int) []string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	var places []string
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "github.com/gatefold/gatefold/") && len(places) < most {
			directory, file := path.Split(frame.File)
			places = append(places, fmt.Sprintf("%s/%s:%d", path.Base(directory), file, frame.Line))
		}
		if !more {
			return places
		}
	}
}

// mistaken reports a panic that happened while an object was read, and makes the object invalid. The parameter
// places has the places in gatefold's code at which it happened. The panic's message is not shown, because it
// may have content of a Secret.
func (d *documentReader) mistaken(at fieldPath, object map[string]any, places []string) {
	message := "gatefold could not read this object, which is a mistake in gatefold (at " + strings.Join(places, " < ") + ")"
	defer func() {
		_ = recover() // after another panic the object has no status, and the targets of a policy are not known
	}()
	known := len(d.problems)
	d.report(at, object, manifest.Problem{Code: InternalError, Message: message, Hint: ReportHint})
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	if k := kindOf(apischema.FromAPIVersionAndKind(apiVersion, name).GroupKind()); k != nil {
		d.reject(at, object, k, []schema.Finding{{Code: InternalError, Message: message}}, d.problems[known:])
	} else {
		d.closeFor(at, object, d.problems[known:])
	}
}

// step opens the document, or reads its next object. It returns true if the document is read completely. A
// panic becomes a problem of the document, and step returns true.
func (r *reading) step(with reader) (done bool) {
	defer func() {
		if recover() == nil {
			return
		}
		message := "gatefold could not read this document, which is a mistake in gatefold (at " + strings.Join(PanickedAt(maxMistakePlaces), " < ") + ")"
		r.document.result = &result{broken: true, beside: &remarks{problems: []finding{{Problem: manifest.Problem{
			Code: InternalError, Severity: manifest.Error, Line: 1, Column: 1, Message: message, Hint: ReportHint,
		}}}}}
		done = true
	}()
	switch {
	case r.opened == nil:
		r.opened = with.open(r.document.text)
	case r.opened.step():
		r.document.result = r.opened.result
		return true
	}
	return false
}

// maxMistakePlaces is the largest number of places in gatefold's Go code (see PanickedAt) that the message about a
// panic names.
const maxMistakePlaces = 3
