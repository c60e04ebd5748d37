package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/store"
)

func statusCommand() *cobra.Command {
	var c client
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the status of every object, and the endpoints that Envoys hold unhealthy",
		Long: "Show the status of every object as a running gatefold sees it, with the conditions of the Gateway API,\n" +
			"and for each Envoy on gatefold's host the endpoints that it does not use, and why.\n" +
			"The exit code is 1 when a condition is not as it should be, or an endpoint is unhealthy.",
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list statusList
			if err := c.getJSON(cmd.Context(), "/api/v1/status", &list); err != nil {
				return err
			}
			if err := c.getJSON(cmd.Context(), "/api/v1/envoys", &list.EnvoyList); err != nil {
				return err
			}
			if format == formatText {
				var problems problemList
				if err := c.getJSON(cmd.Context(), "/api/v1/problems", &problems); err != nil {
					return err
				}
				var transport transportPage
				if err := c.getJSON(cmd.Context(), "/api/v1/transport", &transport); err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if err := errors.Join(printStatus(out, list, problems), printTransport(out, transport)); err != nil {
					return err
				}
			} else if err := writeValue(cmd.OutOrStdout(), format, list); err != nil {
				return err
			}
			if slices.ContainsFunc(list.Items, objectStatus.wrong) || slices.ContainsFunc(list.Envoys, unwell) ||
				slices.ContainsFunc(list.Supervised, notRunning) {
				return errFindings
			}
			return nil
		},
	}
	c.register(cmd.Flags())
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML)
	return cmd
}

// problemList is the admin page /api/v1/problems.
type problemList struct {
	Unloaded string          `json:"unloaded"`
	Hold     string          `json:"hold"`
	State    string          `json:"state"`
	Problems []store.Problem `json:"problems"`
}

// statusList is the admin page /api/v1/status, a v1 List, and /api/v1/envoys beside it.
type statusList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []objectStatus `json:"items"`
	server.EnvoyList
}

// objectStatus has the fields of every kind's status.
type objectStatus struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		Name       string `json:"name"`
		Namespace  string `json:"namespace,omitempty"`
		Generation int64  `json:"generation,omitempty"`
	} `json:"metadata"`
	Status struct {
		Addresses  []gwv1.GatewayStatusAddress `json:"addresses,omitempty"`
		Conditions []metav1.Condition          `json:"conditions,omitempty"`
		Listeners  []gwv1.ListenerStatus       `json:"listeners,omitempty"`
		Parents    []gwv1.RouteParentStatus    `json:"parents,omitempty"`
		Ancestors  []gwv1.PolicyAncestorStatus `json:"ancestors,omitempty"`
	} `json:"status"`
}

func (o objectStatus) wrong() bool {
	return slices.ContainsFunc(o.parts(), func(p statusPart) bool { return len(wrongOnes(p.conditions)) > 0 })
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
// OverlappingTLSConfig and PartiallyInvalid (Gateway API).
func wrongOnes(conditions []metav1.Condition) []metav1.Condition {
	var wrong []metav1.Condition
	for _, c := range conditions {
		good := metav1.ConditionTrue
		switch c.Type {
		case string(gwv1.ListenerConditionConflicted), string(gwv1.ListenerConditionOverlappingTLSConfig),
			string(gwv1.RouteConditionPartiallyInvalid):
			good = metav1.ConditionFalse
		}
		if c.Status != good {
			wrong = append(wrong, c)
		}
	}
	return wrong
}

// printStatus prints one row per part and, where something is wrong, one per
// condition that is.
func printStatus(out io.Writer, list statusList, problems problemList) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KIND\tNAME\tPART\tSTATE\tREASON\tMESSAGE")
	for _, o := range list.Items {
		name := strings.TrimPrefix(o.Metadata.Namespace+"/"+o.Metadata.Name, "/")
		for _, part := range o.parts() {
			row := fmt.Sprintf("%s\t%s\t%s", o.Kind, name, cmp.Or(part.name, "-"))
			wrong := wrongOnes(part.conditions)
			if len(wrong) == 0 {
				fmt.Fprintf(w, "%s\tok\t-\t-\n", row)
			}
			for _, c := range wrong {
				fmt.Fprintf(w, "%s\t%s=%s\t%s\t%s\n", row, c.Type, c.Status, c.Reason, oneLine(c.Message))
			}
		}
	}
	if err := errors.Join(w.Flush(), printSupervised(out, list.Supervised), printEnvoys(out, list.Envoys)); err != nil {
		return err
	}
	if problems.Unloaded != "" {
		fmt.Fprintf(out, "\nNothing is served: %s\n", oneLine(problems.Unloaded))
	}
	if problems.Hold != "" {
		fmt.Fprintf(out, "\nThe folder is not followed: %s\n", problems.Hold)
	}
	if problems.State != "" {
		fmt.Fprintf(out, "\nWhat serves cannot be saved for a restart: %s\n", oneLine(problems.State))
	}
	if n := len(problems.Problems); n > 0 {
		fmt.Fprintf(out, "\n%s in the folder; gatefold validate DIR shows them.\n", count(n, "problem"))
	}
	return nil
}

// oneLine keeps a message inside its row, and control characters from the terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// count is "1 file" or "2 files".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
