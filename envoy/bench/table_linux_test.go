package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
)

// row is one line of the table.
type row struct {
	// Part, Case and Measure say what was measured: "edit", "10,000 routes on one host",
	// "CPU per edit, ms".
	Part, Case, Measure string
	// Value is gatefold's figure, Base what it is compared with, 0 where nothing is.
	Value, Base float64
	// Against names what Base is.
	Against string
	// MaxRatio bounds Value/Base, Max the Value; 0 where there is no goal.
	MaxRatio, Max float64
	// MaxAbove bounds how much Value is above Base.
	MaxAbove float64
}

func (r row) ratio() float64 { return r.Value / r.Base }

// met reports whether the goals of the row are reached.
func (r row) met() bool {
	return (r.MaxRatio == 0 || r.ratio() <= r.MaxRatio) && (r.Max == 0 || r.Value <= r.Max) &&
		(r.MaxAbove == 0 || r.Value-r.Base <= r.MaxAbove)
}

// sound reports whether something was measured at all.
func (r row) sound() bool {
	positive := func(f float64) bool { return f > 0 && !math.IsInf(f, 0) }
	return positive(r.Value) && (r.Against == "" || positive(r.Base))
}

func (r row) cells() []string {
	cells := []string{r.Part, r.Case, r.Measure, figure(r.Value), "", "", ""}
	if r.Against != "" {
		cells[4], cells[5] = figure(r.Base)+" ("+r.Against+")", figure(r.ratio())
	}
	switch {
	case r.MaxAbove > 0:
		cells[6] = "≤ " + figure(r.MaxAbove) + " above"
	case r.MaxRatio > 0 || r.Max > 0:
		cells[6] = "≤ " + figure(max(r.MaxRatio, r.Max))
	}
	if !r.met() {
		cells[6] += " **missed**"
	}
	return cells
}

// figure writes three digits that count.
func figure(f float64) string {
	switch {
	case f >= 10_000:
		return thousands(int(math.Round(f)))
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// thousands writes 12345 as 12,345.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// table gathers the rows of a run.
type table struct {
	mu   sync.Mutex
	rows []row
}

func (t *table) add(rows ...row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, rows...)
}

// write prints the table as Markdown.
func (t *table) write(to io.Writer) {
	line := func(cells ...string) { fmt.Fprintf(to, "| %s |\n", strings.Join(cells, " | ")) }
	line("part", "case", "measure", "gatefold", "compared with", "ratio", "goal")
	line("---", "---", "---", "---:", "---:", "---:", "---")
	for _, r := range t.rows {
		line(r.cells()...)
	}
}
