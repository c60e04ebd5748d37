package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server/board"
	"github.com/gatefold/gatefold/translate/status"
)

// objectStatus is an object of the admin page /api/v1/status.
type objectStatus struct{ board.Object[anyStatus] }

// anyStatus has the fields of every kind's status.
type anyStatus struct {
	Addresses  []gwv1.GatewayStatusAddress `json:"addresses,omitempty"`
	Conditions []metav1.Condition          `json:"conditions,omitempty"`
	Listeners  []gwv1.ListenerStatus       `json:"listeners,omitempty"`
	Parents    []gwv1.RouteParentStatus    `json:"parents,omitempty"`
	Ancestors  []gwv1.PolicyAncestorStatus `json:"ancestors,omitempty"`
}

// wrong reports whether somebody has to do something about the object itself.
func (o objectStatus) wrong() bool {
	return o.Stale != nil || slices.ContainsFunc(o.parts(), func(p statusPart) bool { return len(wrongOnes(p.conditions)) > 0 })
}

// statusRow is a row of the table: kind, name, part, state, reason and message.
type statusRow [6]string

// rows are those of the object: one for each condition that is not as it should be, and
// one for each part where all are. What is stale is said once, at the first of those.
func (o objectStatus) rows() []statusRow {
	name := strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/")
	state, reason, message := o.state()
	var rows []statusRow
	said := false
	for _, part := range o.parts() {
		row := statusRow{o.Kind, name, cmp.Or(part.name, "-"), state, reason, message}
		for _, c := range wrongOnes(part.conditions) {
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

// state is the state of an object whose conditions are all as they should be, with its
// reason and message.
func (o objectStatus) state() (state, reason, message string) {
	var policies []string
	for _, key := range o.StalePolicies {
		policies = append(policies, key.String())
	}
	switch {
	case o.Stale != nil:
		return "stale", "LastGoodKept", oneLine("the last valid version is served since " + o.Stale.Since.UTC().Format(time.RFC3339) + "; " + staleCause(*o.Stale))
	case len(policies) > 0:
		return "ok", "-", oneLine("of a stale policy, the last valid version is in force: " + strings.Join(policies, ", "))
	}
	return "ok", "-", "-"
}

// staleCause is "FILE:LINE:COLUMN: what is wrong there".
func staleCause(s board.Stale) string {
	at := position(s.Place)
	if s.Message == "" {
		return at + " has no valid version"
	}
	return at + ": " + s.Message
}

// statusPart is what conditions are given for: an object, or a listener, parent
// or ancestor of it.
type statusPart struct {
	name       string
	conditions []metav1.Condition
}

func (o objectStatus) parts() []statusPart {
	var parts []statusPart
	if len(o.Status.Conditions) > 0 {
		parts = append(parts, statusPart{o.listensOn(), o.Status.Conditions})
	}
	for _, l := range o.Status.Listeners {
		parts = append(parts, statusPart{fmt.Sprintf("listener %s (routes: %d)", l.Name, l.AttachedRoutes), l.Conditions})
	}
	for _, p := range o.Status.Parents {
		parts = append(parts, statusPart{"parent " + parentName(p.ParentRef), p.Conditions})
	}
	for _, a := range o.Status.Ancestors {
		parts = append(parts, statusPart{"at " + parentName(a.AncestorRef), a.Conditions})
	}
	return parts
}

// listensOn names a Gateway's addresses: one of a pool stands nowhere else.
func (o objectStatus) listensOn() string {
	var values []string
	for _, a := range o.Status.Addresses {
		values = append(values, a.Value)
	}
	if len(values) == 0 {
		return ""
	}
	return "on " + strings.Join(values, ", ")
}

func parentName(ref gwv1.ParentReference) string {
	name := string(ref.Name)
	if ref.Namespace != nil {
		name = string(*ref.Namespace) + "/" + name
	}
	if ref.SectionName != nil {
		name += "#" + string(*ref.SectionName)
	}
	if ref.Kind != nil && *ref.Kind != "Gateway" {
		name = string(*ref.Kind) + " " + name
	}
	return name
}

// wrongOnes picks the conditions that are not as they should be. These types
// speak of something bad, so that True is wrong: Conflicted,
// OverlappingTLSConfig and PartiallyInvalid (Gateway API), and ClosedByPolicy.
func wrongOnes(conditions []metav1.Condition) []metav1.Condition {
	var wrong []metav1.Condition
	for _, c := range conditions {
		good := metav1.ConditionTrue
		switch c.Type {
		case string(gwv1.ListenerConditionConflicted), string(gwv1.ListenerConditionOverlappingTLSConfig),
			string(gwv1.RouteConditionPartiallyInvalid), string(status.ListenerConditionClosed):
			good = metav1.ConditionFalse
		}
		if c.Status != good {
			wrong = append(wrong, c)
		}
	}
	return wrong
}
