package page

import (
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/translate/explain"
)

// One page shows at most maxLines lines and about maxBytes bytes of the tree (see piece). The lines that it repeats
// from earlier pages (branch.Continued) do not count.
const maxLines, maxBytes = 300, 120_000

// lineBytes is about the size of the HTML of a line without its texts.
const lineBytes = 300

// routePage shows the tree of served hosts and routes.
type routePage struct {
	Filter   explain.TreeFilter
	Branches []*branch
	Piece    piece
}

// branch is a node of the tree with the shown nodes below it.
type branch struct {
	explain.TreeNode
	Below []*branch
	// ID is the id of the HTML element. It is the same as long as the branch and the branches above it have the
	// same content.
	ID string
	// Continued is true if the line of the branch was already shown on an earlier page. This page repeats the line,
	// because it shows nodes below it.
	Continued bool
}

// Class returns the CSS class of the line.
func (b *branch) Class() string { return "node " + string(b.Kind) }

// Link returns the part of a line that links to the page of an object: a Gateway, a ListenerSet or a route. It is the
// line without the reason (Why). If the line is not about such an object, Link returns "".
func (b *branch) Link() string {
	if b.Object.Kind == "" || !slices.Contains([]explain.TreeKind{explain.PortNode, explain.RouteNode, explain.NotAcceptedNode}, b.Kind) {
		return ""
	}
	return strings.TrimRight(strings.TrimSuffix(b.Name, b.Why), " ")
}

// Rest returns the text of the line after the text of Link.
func (b *branch) Rest() string { return strings.TrimPrefix(b.Name, b.Link()) }

// mark is a label at the beginning of a line, with its CSS class.
type mark struct{ Class, Words string }

// Mark returns a label if the line is about a problem: an object that is not accepted, a port that is not programmed,
// an object whose last valid version is served, a match that gets no request because another match gets them all
// (Shadowed), or a rule that answers an error. Otherwise it returns nil.
func (b *branch) Mark() *mark {
	switch {
	case b.Kind == explain.NotAcceptedNode:
		return &mark{"bad", "not accepted"}
	case b.Kind == explain.PortNode && b.Why != "" && !b.Stale:
		return &mark{"bad", "not programmed"}
	case b.Stale:
		return &mark{"warn", "stale"}
	case b.Why == "":
		return nil
	case b.Shadowed():
		return &mark{"warn", "no request"}
	}
	return &mark{"bad", "answers " + b.Fails}
}

// Head reports whether the page shows nodes that are below this node of the tree.
func (b *branch) Head() bool { return len(b.Below) > 0 }

// routes returns the body of the page of routes. It returns an error if the query is invalid, or if nothing is
// loaded yet.
func (p *pages) routes(r *http.Request) (any, error) {
	query := r.URL.Query()
	filter, err := explain.ReadTreeFilter(query)
	if err != nil {
		return nil, err
	}
	from, err := readFrom(query)
	if err != nil {
		return nil, err
	}
	nodes, err := p.trees.get(p.documents.Generation(), treeKey{filter, p.documents.Judgements()}, func() ([]*explain.TreeNode, error) {
		return p.documents.Tree(filter, false)
	})
	if err != nil {
		return nil, err
	}
	c := &cutter{from: from}
	page := routePage{Filter: filter, Branches: c.cut(nodes, "")}
	page.Piece = longList{admin.PagePath + "routes", filter.Query(), maxLines}.piece(from, c.end(), c.line)
	explain.LocateNodes(c.shown, p.documents.Places)
	return page, nil
}

// treeKey is the key of a cached tree. The tree changes with each publication, and with each verdict on a Gateway.
type treeKey struct {
	filter     explain.TreeFilter
	judgements uint64
}

// cutter selects the nodes of a tree that one page shows. Each node is one line, and lines have indexes. A page shows
// lines in order until the page is full. It also shows all ancestors of these lines.
type cutter struct {
	from  int // index of the first line to show
	line  int // index of the next node
	lines int // number of shown lines, without ancestors whose index is less than from
	bytes int
	full  int // index of the first line that did not fit, or 0
	shown []*explain.TreeNode
}

// end returns the index of the first line of the tree after those that the page shows.
func (c *cutter) end() int {
	if c.full > 0 {
		return c.full
	}
	return c.line
}

// cut returns the branches of the tree that the page shows: branches whose own line is shown, and branches above a
// shown line. cut visits all nodes, also to count their lines. The parameter above is the ID of the branch above the
// nodes.
func (c *cutter) cut(nodes []*explain.TreeNode, above string) (out []*branch) {
	for _, n := range nodes {
		if c.full > 0 {
			c.line += lines(n)
			continue
		}
		at := c.line
		c.line++
		b := &branch{TreeNode: *n, ID: idOf(above, n), Continued: at < c.from}
		shown := c.takes(at, n)
		b.Below = c.cut(n.Below, b.ID)
		if shown || len(b.Below) > 0 {
			c.shown = append(c.shown, &b.TreeNode)
			out = append(out, b)
		}
	}
	return out
}

// lines returns how many lines a node and the nodes below it have.
func lines(n *explain.TreeNode) int {
	count := 1
	for _, below := range n.Below {
		count += lines(below)
	}
	return count
}

// takes reports whether the page shows a line, and counts a shown line. A line before c.from is not shown. If
// the page is full, takes sets c.full to the index of the line and returns false.
func (c *cutter) takes(line int, n *explain.TreeNode) bool {
	if line < c.from || c.full > 0 {
		return false
	}
	if c.lines == maxLines || c.bytes > maxBytes {
		c.full = line
		return false
	}
	c.lines++
	c.bytes += lineBytes + min(len(n.Name), maxText) + 2*len(n.Object.Name) + len(n.Field)
	return true
}

// idOf returns the ID of a node, from the content of the node and the ID of the branch above it.
func idOf(above string, n *explain.TreeNode) string {
	return idFrom("t", above, string(n.Kind), n.Object.String(), n.Field, n.Name)
}

// idFrom returns an ID for an HTML element: the prefix, and a hash of the texts.
func idFrom(prefix string, texts ...string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(strings.Join(texts, "\x00"))) // it never fails
	return prefix + strconv.FormatUint(sum.Sum64(), 36)
}
