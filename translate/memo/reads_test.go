package memo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// pages is a network whose rules read few and many values, some of them twice, in an order
// that changes: a page names numbers, and sums up what they stand for; it may name pages
// before it as well.
type pages struct {
	engine  *Engine
	numbers *Input[int, int]
	lists   *Input[string, []int]
	sum     *Rule[string, int]
	shown   map[string]int
}

func newPages() *pages {
	p := &pages{engine: New(), shown: map[string]int{}}
	p.numbers = NewInput[int](p.engine, "in", equal[int])
	p.lists = NewInput[string](p.engine, "in", slices.Equal[[]int])
	p.sum = NewRule(p.engine, "sum", p.runSum, equal[int])
	Each(p.sum, p.lists)
	Watch(p.sum, func(key string, sum int) { p.shown[key] = sum })
	return p
}

// runSum adds up a list: a negative number names another page.
func (p *pages) runSum(c *Ctx, key string) (sum int) {
	list, _ := p.lists.Get(c, key)
	for _, n := range list {
		if other := fmt.Sprint("page ", -n); n < 0 && other < key {
			sum += p.sum.Get(c, other)
			continue
		}
		value, _ := p.numbers.Get(c, n)
		sum += value
	}
	return sum
}

// readers gives, of all cells, who reads them; reads gives what the rules' last runs read.
// Each is in both, or it is kept too long or not told of changes.
func (p *pages) readers() (edges, reads map[[2]*node]bool) {
	edges, reads = map[[2]*node]bool{}, map[[2]*node]bool{}
	visit := func(first *node) {
		for n := first; n != nil; n = n.next {
			if n.one != nil {
				edges[[2]*node{n, &n.one.node}] = true
			}
			for by := range n.more.all() {
				edges[[2]*node{n, &by.node}] = true
			}
			if cell, is := n.cell.(*ruleCell[string, int]); is {
				for _, read := range cell.reads {
					reads[[2]*node{read, &cell.node}] = true
				}
			}
		}
	}
	for _, r := range keysOf[int](p.engine).byHash {
		visit(r.first)
	}
	for _, r := range keysOf[string](p.engine).byHash {
		visit(r.first)
	}
	return edges, reads
}

// edit gives a page another list, or takes it away, or gives a number another value.
func (p *pages) edit(r *rand.Rand, lists map[string][]int, numbers map[int]int) {
	key := fmt.Sprint("page ", r.IntN(8))
	switch r.IntN(6) {
	case 0:
		p.lists.Delete(key)
		delete(lists, key)
	case 1, 2:
		n := r.IntN(2 * manyReads)
		numbers[n] = r.IntN(3)
		p.numbers.Set(n, numbers[n])
	case 3:
		list := slices.Clone(lists[key])
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		lists[key] = list
		p.lists.Set(key, list)
	default:
		list := make([]int, r.IntN(3*manyReads))
		for i := range list {
			list[i] = r.IntN(2*manyReads+8) - 8
		}
		lists[key] = list
		p.lists.Set(key, list)
	}
}

// TestReadersAreThoseOfTheLastRuns edits at random: sums are those of a fresh engine, and
// every cell knows exactly those whose last run read it.
func TestReadersAreThoseOfTheLastRuns(t *testing.T) {
	for seed := range uint64(10) {
		r, warm := rand.New(rand.NewPCG(seed, 3)), newPages()
		lists, numbers := map[string][]int{}, map[int]int{}
		many := 0
		for step := range 100 {
			for range 1 + r.IntN(3) {
				warm.edit(r, lists, numbers)
			}
			_ = warm.engine.Flush(nil)
			cold := newPages()
			for n, value := range numbers {
				cold.numbers.Set(n, value)
			}
			for key, list := range lists {
				cold.lists.Set(key, list)
			}
			_ = cold.engine.Flush(nil)
			for key := range lists {
				if warm.shown[key] != cold.shown[key] {
					t.Fatalf("seed %d step %d: %s sums up to %d, cold to %d", seed, step, key, warm.shown[key], cold.shown[key])
				}
			}
			readers, reads := warm.readers()
			if !maps.Equal(readers, reads) {
				t.Fatalf("seed %d step %d: %d readers are known of %d", seed, step, len(readers), len(reads))
			}
			if fresh, _ := cold.readers(); len(fresh) != len(readers) {
				t.Fatalf("seed %d step %d: %d reads, cold %d", seed, step, len(readers), len(fresh))
			}
			many = max(many, len(reads))
		}
		if many < 4*manyReads {
			t.Fatalf("only %d reads at best: the edits prove little", many)
		}
	}
}
