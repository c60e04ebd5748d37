package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/explain"
)

// treeOptions are the flags of tree.
type treeOptions struct {
	folder folderOptions
	format outputFormat
	filter explain.TreeFilter
	server client
}

const (
	formatMermaid outputFormat = "mermaid"
	formatDOT     outputFormat = "dot"
)

func treeCommand() *cobra.Command {
	var o treeOptions
	cmd := &cobra.Command{
		Use:   "tree [DIR]",
		Short: "Print Gateways, hosts and routes, with the routes that each delegates to",
		Long: "Print what a folder serves as a tree: Gateways, virtual hosts, routes, the matches that hand requests to other\n" +
			"routes with those routes below them, and below each match the routes that it does not accept, with the reason.\n" +
			"Listeners and routes that a Gateway does not accept are printed at its port, or after its ports. A rule that answers\n" +
			"an error says why. Routes that an error keeps from serving anywhere come last. Without DIR it prints what the gatefold at --admin-address serves\n" +
			"now, with the ports that are not programmed and the objects of which the last valid version is served.\n" +
			"Mistakes in the folder go to standard error; validate explains them. docs/json.md describes the JSON.",
		Example: "  gatefold tree ./folder --host shop.example.com --path /cart\n" +
			"  gatefold tree ./folder -n team-a\n" +
			"  gatefold tree --route shop/cart   # what the running gatefold serves\n" +
			"  gatefold tree ./folder -o dot | dot -Tsvg > tree.svg",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && serverGiven(cmd) {
				return fmt.Errorf("tree prints a folder or what a running gatefold serves: leave out %q, or --%s", args[0], adminFlag)
			}
			return noMore(cmd, args, 1)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, err := o.nodes(cmd, args)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch o.format {
			case formatText:
				_, err = out.Write(treeText(nodes, useColor(isTerminal(out))))
			case formatMermaid:
				_, err = out.Write(treeMermaid(nodes))
			case formatDOT:
				_, err = out.Write(treeDOT(nodes))
			default:
				return writeValue(out, o.format, nodes)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.filter.Host, "host", "", "show the virtual hosts that serve this host")
	flags.StringVar(&o.filter.Path, "path", "", "show the rules that take this path")
	flags.StringVarP(&o.filter.Namespace, "namespace", "n", "", "show the routes of this namespace, with all below them and the way to them")
	flags.StringVar(&o.filter.Route, "route", "", "show this route, NAMESPACE/NAME, with all below it and the way to it")
	o.server.register(cmd, 10*time.Second, " when no DIR is given")
	o.folder.register(flags)
	o.format.register(flags, formatText, formatJSON, formatYAML, formatMermaid, formatDOT)
	return cmd
}

// nodes returns the tree of a folder, or of a running gatefold if args is empty. If the folder has errors, it
// prints their number to stderr. It returns an error if a flag is invalid, or if the folder or gatefold cannot
// be read.
func (o *treeOptions) nodes(cmd *cobra.Command, args []string) ([]*explain.TreeNode, error) {
	filter, err := explain.ReadTreeFilter(o.filter.Query())
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	if len(args) == 0 {
		return o.ask(cmd.Context(), filter.Query())
	}
	read, err := readFolder(cmd.Context(), args[0], o.folder)
	if err != nil {
		return nil, err
	}
	if errors, _ := manifest.Count(read.Problems); errors > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s in the folder; gatefold validate shows the details\n", count(errors, "error"))
	}
	facts := explain.Facts{View: read.Result.View(), Problems: read.Problems, Statuses: read.Result.Status, Places: read.Places}
	return explain.Tree(facts, filter), nil
}

// ask requests the tree from a running gatefold. The error means that gatefold gave no valid answer or rejected
// the query.
func (o *treeOptions) ask(ctx context.Context, query url.Values) ([]*explain.TreeNode, error) {
	code, body, err := o.server.get(ctx, "/api/v1/tree?"+query.Encode())
	switch {
	case err != nil:
		return nil, o.server.orAsk(err, "to see a folder, name it")
	case code == http.StatusBadRequest:
		return nil, errors.New(said(body))
	case code != http.StatusOK:
		return nil, fmt.Errorf("%s answers %d: %s", o.server.address, code, said(body))
	}
	var nodes []*explain.TreeNode
	if err := json.Unmarshal(body, &nodes); err != nil {
		return nil, fmt.Errorf("%s does not answer as gatefold does: %w", o.server.address, err)
	}
	return nodes, nil
}

// treeText returns the tree as text. A line ends with the file and line of its object, if they are known.
// Without nodes, the text says that there is nothing to show.
func treeText(nodes []*explain.TreeNode, color bool) []byte {
	page := &explainPage{color: color}
	if len(nodes) == 0 {
		fmt.Fprintln(&page.out, "nothing to show")
	}
	for _, n := range nodes {
		page.node(n, "", "")
	}
	return page.out.Bytes()
}

// node writes the line of a node, and the lines of the nodes below it. The parameters first and rest are the
// texts that draw the branches of the tree: first stands in front of the node's own line, and rest in front of
// the lines below.
func (t *explainPage) node(n *explain.TreeNode, first, rest string) {
	var line bytes.Buffer
	line.WriteString(first)
	switch {
	case isWrong(n):
		line.WriteString(t.paint(red, drawn(n)))
	case n.Kind == explain.RouteNode || n.Kind == explain.PortNode:
		line.WriteString(t.paint(bold, drawn(n)))
	default:
		line.WriteString(drawn(n))
	}
	if n.At.File != "" {
		line.WriteString(t.paint(faint, "   "+visible.Text(manifest.Problem{File: n.At.File, Line: n.At.Line}.Position())))
	}
	fmt.Fprintln(&t.out, line.String())
	for i, below := range n.Below {
		if i == len(n.Below)-1 {
			t.node(below, rest+"└─ ", rest+"   ")
		} else {
			t.node(below, rest+"├─ ", rest+"│  ")
		}
	}
}

// treeMermaid returns the tree as a Mermaid flowchart, which many Markdown viewers render.
func treeMermaid(nodes []*explain.TreeNode) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "flowchart LR")
	fmt.Fprintln(&out, "  classDef wrong stroke-dasharray: 4")
	eachNode(nodes, func(n *explain.TreeNode, id, above int) {
		fmt.Fprintf(&out, "  n%d[\"%s\"]\n", id, mermaidText(drawn(n)))
		if above > 0 {
			fmt.Fprintf(&out, "  n%d --> n%d\n", above, id)
		}
		if isWrong(n) {
			fmt.Fprintf(&out, "  class n%d wrong\n", id)
		}
	})
	return out.Bytes()
}

// drawn returns the text of a node in one line. It begins with "✗" if isWrong returns true.
func drawn(n *explain.TreeNode) string {
	if isWrong(n) {
		return "✗ " + visible.Text(n.Name)
	}
	return visible.Text(n.Name)
}

// isWrong reports whether a node shows a problem: an object that is not accepted, a port that is not programmed, an
// object whose last valid version is served, a match that no request can reach, or a rule that answers an error.
func isWrong(n *explain.TreeNode) bool {
	return n.Kind == explain.NotAcceptedNode || n.Why != "" || n.Stale
}

// mermaidText returns a text for a label in Mermaid. Characters that Mermaid does not allow become character
// codes.
func mermaidText(text string) string {
	var out strings.Builder
	for _, c := range text {
		if strings.ContainsRune("\"#&<>`;%[](){}|\\", c) || c < ' ' {
			fmt.Fprintf(&out, "#%d;", c)
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

// treeDOT returns the tree as a graph for Graphviz.
func treeDOT(nodes []*explain.TreeNode) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "digraph gatefold {")
	fmt.Fprintln(&out, "  rankdir=LR")
	fmt.Fprintln(&out, "  node [shape=box]")
	eachNode(nodes, func(n *explain.TreeNode, id, above int) {
		style := ""
		if isWrong(n) {
			style = ", style=dashed"
		}
		label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(drawn(n))
		fmt.Fprintf(&out, "  n%d [label=\"%s\"%s]\n", id, label, style)
		if above > 0 {
			fmt.Fprintf(&out, "  n%d -> n%d\n", above, id)
		}
	})
	fmt.Fprintln(&out, "}")
	return out.Bytes()
}

// eachNode calls the function visit for each node, and for a parent before its children. The parameter id of
// visit is the number of the node, and the parameter above is the number of its parent, or 0 if there is no
// parent.
func eachNode(nodes []*explain.TreeNode, visit func(n *explain.TreeNode, id, above int)) {
	last := 0
	var walk func([]*explain.TreeNode, int)
	walk = func(nodes []*explain.TreeNode, above int) {
		for _, n := range nodes {
			last++
			id := last
			visit(n, id, above)
			walk(n.Below, id)
		}
	}
	walk(nodes, 0)
}
