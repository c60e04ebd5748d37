package cli

import (
	"cmp"
	"strings"
	"time"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/status"
)

// objectStatus is an object of the admin page /api/v1/status.
type objectStatus struct{ board.Object[board.Status] }

// wrong reports whether the object itself has a problem: it is stale, or its status has a wrong condition.
func (o objectStatus) wrong() bool {
	return o.Stale != nil || o.Status.Wrong()
}

// without reports whether no version of the object serves.
func (o objectStatus) without() bool {
	return o.State == string(status.Closed) || o.State == string(status.NotServed)
}

// stateOK is the state of a row that shows no problem.
const stateOK = "ok"

// statusRow is a row of the table: kind, name, part, state, reason and message.
type statusRow [6]string

// rows returns the rows of the object in the table. A part of the status (such as a parent of a route) has a row
// for each condition that reports a problem. It has one row if no condition does, or if the object is closed or not
// served. If the object is stale, one of the rows says why. An object whose status has no parts has one row.
func (o objectStatus) rows() []statusRow {
	name := visible.Text(strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/"))
	state, reason, message := o.state()
	var rows []statusRow
	said := false
	for _, part := range o.Status.Parts() {
		row, wrong := statusRow{o.Kind, name, cmp.Or(visible.Text(part.Name), "-"), state, reason, message}, part.Wrong()
		if o.without() && len(wrong) > 0 { // the first condition says why
			row[3], row[4], row[5] = o.State, wrong[0].Reason, oneLine(wrong[0].Message)
			rows = append(rows, row)
			continue
		}
		for _, c := range wrong {
			row[3], row[4], row[5] = c.Type+"="+string(c.Status), c.Reason, oneLine(c.Message)
			rows = append(rows, row)
		}
		if row[3] == state {
			rows, said, reason, message = append(rows, row), true, "-", "-"
		}
	}
	if !said && (o.Stale != nil || len(rows) == 0) {
		rows = append([]statusRow{{o.Kind, name, "-", state, reason, message}}, rows...)
	}
	return rows
}

// state returns the state, reason and message for a row that shows no wrong condition. If the newest version of
// the object is invalid, the state is "stale" with the stage at which it fails, and the message says why. Otherwise the
// state is "ok", and the message names the stale policies that have the object as their target.
func (o objectStatus) state() (state, reason, message string) {
	var policies []string
	for _, key := range o.StalePolicies {
		policies = append(policies, key.String())
	}
	switch {
	case o.Stale != nil:
		since := " since " + o.Stale.Since.UTC().Format(time.RFC3339)
		words := "the last valid version is served" + since + "; " + staleCause(*o.Stale)
		if o.Stale.Stage == store.StageTranslate { // its message says what is served
			words = staleCause(*o.Stale) + since
		}
		if o.Stale.Unsaved {
			words += "; " + unsavedWords
		}
		return "stale (" + string(o.Stale.Stage) + ")", "LastGoodKept", oneLine(words)
	case len(policies) > 0:
		return stateOK, "-", oneLine("of a stale policy, the last valid version is in force: " + strings.Join(policies, ", "))
	}
	return stateOK, "-", "-"
}

// unsavedWords says what a restart does to a stale object whose served version is not saved.
const unsavedWords = "that version is not saved: a restart takes the newest one as that of a new object"

// staleCause returns where and why the newest version is invalid: "FILE:LINE:COLUMN: MESSAGE". Without a
// message, the text is "FILE:LINE:COLUMN has no valid version".
func staleCause(s board.Stale) string {
	at := position(s.Place)
	if s.Message == "" {
		return at + " has no valid version"
	}
	return at + ": " + s.Message
}
