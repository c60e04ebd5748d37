package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/explain"
)

func treeCommand() *cobra.Command {
	var folder folderOptions
	var format outputFormat
	cmd := &cobra.Command{
		Use:   "tree DIR",
		Short: "Print which routes stand below which",
		Long: "Print what a folder serves as a tree: Gateways, virtual hosts, routes, the rules that hand requests to other\n" +
			"routes with those routes below them, and the routes that are not accepted there with the reason.\n" +
			"Mistakes in the folder go to standard error; validate explains them.",
		Args: exactly("the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := readFolder(cmd.Context(), args[0], folder)
			if err != nil {
				return err
			}
			nodes := explain.Tree(read.Result.View(), read.Result.Status, read.Places)
			if format != formatText {
				return writeValue(cmd.OutOrStdout(), format, nodes)
			}
			if errors, _ := manifest.Count(read.Problems); errors > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s in the folder; gatefold validate shows the details\n", count(errors, "error"))
			}
			_, err = cmd.OutOrStdout().Write(treeText(nodes, useColor(isTerminal(cmd.OutOrStdout()))))
			return err
		},
	}
	folder.register(cmd.Flags())
	format.register(cmd.Flags(), formatText, formatJSON, formatYAML)
	return cmd
}

// treeText draws the tree, each line with its place.
func treeText(nodes []*explain.TreeNode, color bool) []byte {
	page := &explainPage{color: color}
	for _, n := range nodes {
		page.node(n, "", "")
	}
	return page.out.Bytes()
}

// node draws a node and what is below it. first stands before its own line,
// rest before the lines below.
func (t *explainPage) node(n *explain.TreeNode, first, rest string) {
	var line bytes.Buffer
	line.WriteString(first)
	switch n.Kind {
	case explain.RouteNode, explain.PortNode:
		line.WriteString(t.paint(bold, n.Name))
	case explain.NotAcceptedNode:
		line.WriteString(t.paint(red, "✗ "+n.Name))
	default:
		line.WriteString(n.Name)
	}
	if n.At.File != "" {
		line.WriteString(t.paint(faint, fmt.Sprintf("   %s:%d", n.At.File, n.At.Line)))
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
