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

// The bounds of one piece of the tree: its lines, and about how many bytes they come to.
const maxLines, maxBytes = 300, 120_000

// lineBytes is about what the HTML of a line takes beside its texts.
const lineBytes = 300

// routePage is the tree of what is served.
type routePage struct {
	Filter   explain.TreeFilter
	Branches []*branch
	Piece    piece
}

// branch is a node of the tree with those below it that are shown.
type branch struct {
	explain.TreeNode
	Below []*branch
	// ID names the branch as long as it has its place.
	ID string
	// Continued is true for a branch whose first lines are on the piece before.
	Continued bool
}

// Class is the class of the line.
func (b *branch) Class() string { return "node " + string(b.Kind) }

// Link is the part of the line that leads to the page of its object, a Gateway or a route: "" for none.
func (b *branch) Link() string {
	if b.Object.Kind == "" || !slices.Contains([]explain.TreeKind{explain.PortNode, explain.RouteNode, explain.NotAcceptedNode}, b.Kind) {
		return ""
	}
	if b.Why == "" {
		return b.Name
	}
	name, _, _ := strings.Cut(b.Name, ": ")
	return b.Name[:min(len(name)+1, len(b.Name))] // with the colon
}

// Rest is the part of the line behind Link.
func (b *branch) Rest() string { return strings.TrimPrefix(b.Name, b.Link()) }

// mark is what a line with a reason begins with.
type mark struct{ Class, Words string }

// Mark says at once that something is wrong with the line; nil for most.
func (b *branch) Mark() *mark {
	switch {
	case b.Kind == explain.NotAcceptedNode:
		return &mark{"bad", "not accepted"}
	case b.Why == "":
		return nil
	case b.Shadowed():
		return &mark{"warn", "no request"}
	}
	return &mark{"bad", "answers 500"}
}

// Head reports whether the line heads others that belong to it.
func (b *branch) Head() bool { return len(b.Below) > 0 }

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
	nodes, err := p.trees.get(p.documents.Generation(), filter, func() ([]*explain.TreeNode, error) {
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

// cutter cuts a piece out of a tree: the lines from an index on, with the lines above them.
type cutter struct {
	from  int
	line  int // of the next node
	lines int // that are shown, but for those above the first
	bytes int
	full  int // the first line that is not shown for want of room, 0 for none
	shown []*explain.TreeNode
}

// end returns the index of the first line behind the piece.
func (c *cutter) end() int {
	if c.full > 0 {
		return c.full
	}
	return c.line
}

// cut returns the branches of the piece. It walks all nodes, to count them.
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

// lines counts a node and those below it.
func lines(n *explain.TreeNode) int {
	count := 1
	for _, below := range n.Below {
		count += lines(below)
	}
	return count
}

// takes reports whether a line is in the piece.
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

// idOf makes the name of a branch of its place in the tree.
func idOf(above string, n *explain.TreeNode) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(above + "\x00" + string(n.Kind) + "\x00" + n.Object.String() + "\x00" + n.Field + "\x00" + n.Name)) // it never fails
	return "t" + strconv.FormatUint(sum.Sum64(), 36)
}
