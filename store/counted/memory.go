package counted

import (
	"encoding/binary"
	"math"
	"regexp/syntax"
	"slices"
	"unicode"
)

// What RE2 keeps for an expression in Envoy, in bytes. The numbers were measured on Envoy 1.40.0, and
// TestTheirMemoryHasItsPrice compares them with a real Envoy.
const (
	// bytesPerNode is for a node of the syntax tree, as it is written: a literal text, a class, a group, a repetition.
	bytesPerNode = 100
	// bytesPerInstruction is for an instruction of the program, in which repetitions are unrolled.
	bytesPerInstruction = 16
	// bytesPerState is for a state of the automaton, without its list of instructions and its table of next states.
	bytesPerState = 64
	// bytesPerQueued is for an instruction in the two queues with which RE2 finds the states of an automaton.
	bytesPerQueued = 32
	// fullAutomaton is the size at which RE2 throws the states of an automaton away and begins anew.
	fullAutomaton = 8 << 20 / 3
	// maxVisits limits the work of counting an automaton: each instruction in each state is a visit.
	maxVisits = 4096
)

// ProgramBytes returns how many bytes Envoy needs for a regular expression as long as no request was compared with it: for
// the syntax tree, the program, and the table with which RE2 reads expressions that never have a choice. Such a table
// has an entry for each instruction that reads a character and each class of equal bytes, so that an expression of
// many different characters needs more. The result is 0 for an invalid expression.
func ProgramBytes(pattern string) int {
	e, ok := readBytes(pattern)
	if !ok {
		return 0
	}
	return e.programBytes()
}

// MemoryBytes returns how many bytes Envoy needs for a regular expression at most, whatever requests are compared with
// it. RE2 keeps the states of its automaton that requests have reached. There are about as many as characters in the
// expression for most, but a choice that stays open for n characters, as in ".*a.{14}", stands for 2^n states. Whoever
// sends requests fills them. The result is 0 for an invalid expression. It is the most that RE2 keeps for a costly one
// (Costly), which is neither compiled nor walked through.
func MemoryBytes(pattern string) int {
	if Costly(pattern) != "" {
		return fullAutomaton
	}
	e, ok := readBytes(pattern)
	if !ok {
		return 0
	}
	return max(e.programBytes(), e.automatonBytes())
}

// byteSet is a set of bytes.
type byteSet [4]uint64

// add adds the characters from low to high that are bytes.
func (s *byteSet) add(low, high rune) {
	for b := low; b <= min(high, math.MaxUint8); b++ {
		s[b/64] |= 1 << (b % 64)
	}
}

func (s *byteSet) has(b byte) bool { return s[b/64]&(1<<(b%64)) != 0 }

// expression is a regular expression as Envoy reads it: each byte of the pattern and of the value is a character.
type expression struct {
	parsed  *syntax.Regexp
	program *syntax.Prog
	reads   []byteSet // for each instruction, the bytes that it reads; none for an instruction that reads no character
	// bytes has one byte of each class. Two bytes are in one class if every instruction reads both or neither.
	bytes []byte
}

// readBytes compiles a regular expression as Envoy reads it. ok is false if the expression is invalid.
func readBytes(pattern string) (e *expression, ok bool) {
	var err error
	e = &expression{}
	if e.parsed, err = parseBytes(pattern); err != nil {
		return nil, false
	}
	if e.program, err = syntax.Compile(e.parsed.Simplify()); err != nil {
		return nil, false
	}
	e.reads = make([]byteSet, len(e.program.Inst))
	for i := range e.program.Inst {
		inst := &e.program.Inst[i]
		switch {
		case !reads(inst):
		case i > 0 && sameRunes(inst, &e.program.Inst[i-1]): // a repetition
			e.reads[i] = e.reads[i-1]
		default:
			e.reads[i] = bytesOf(inst)
		}
	}
	e.bytes = classes(e.reads)
	return e, true
}

// reads reports whether an instruction reads a character.
func reads(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// sameRunes reports whether two instructions are certain to read the same bytes.
func sameRunes(a, b *syntax.Inst) bool {
	return a.Op == b.Op && len(a.Rune) > 0 && len(a.Rune) == len(b.Rune) && &a.Rune[0] == &b.Rune[0]
}

// bytesOf returns the bytes that an instruction reads.
func bytesOf(inst *syntax.Inst) (set byteSet) {
	switch runes := inst.Rune; {
	case inst.Op == syntax.InstRuneAny, inst.Op == syntax.InstRuneAnyNotNL:
		set = byteSet{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
		if inst.Op == syntax.InstRuneAnyNotNL {
			set['\n'/64] &^= 1 << ('\n' % 64)
		}
	case len(runes) == 1:
		set.add(runes[0], runes[0])
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(runes[0]); r != runes[0]; r = unicode.SimpleFold(r) {
				set.add(r, r)
			}
		}
	default:
		for i := 0; i+1 < len(runes); i += 2 {
			set.add(runes[i], runes[i+1])
		}
	}
	return set
}

// classes returns one byte of each class of bytes that are in the same sets.
func classes(sets []byteSet) (one []byte) {
	var class [256]byte // for each byte, the first byte of its class
	known := map[byteSet]bool{{}: true}
	for _, set := range sets {
		if known[set] {
			continue
		}
		known[set] = true
		var inside, outside [256]int // by the class before: the first byte of the part in the set, or beside it, plus one
		for b := range 256 {
			part := &outside[class[b]]
			if set.has(byte(b)) {
				part = &inside[class[b]]
			}
			if *part == 0 {
				*part = b + 1
			}
			class[b] = byte(*part - 1)
		}
	}
	for b := range 256 {
		if class[b] == byte(b) {
			one = append(one, byte(b))
		}
	}
	return one
}

func (e *expression) programBytes() int {
	readers := 0
	for _, set := range e.reads {
		if set != (byteSet{}) {
			readers++
		}
	}
	return bytesPerNode*nodes(e.parsed) + bytesPerInstruction*instructions(e.parsed) + 4*readers*(len(e.bytes)+1)
}

// nodes returns the number of nodes of a syntax tree.
func nodes(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += nodes(sub)
	}
	return n
}

// automatonBytes returns the size of the automaton of an expression, at most fullAutomaton. It is fullAutomaton, too, if
// the automaton has too many states to count them.
func (e *expression) automatonBytes() int {
	w := newWalk(e)
	size := bytesPerQueued * instructions(e.parsed)
	for ; len(w.queue) > 0 && w.visits <= maxVisits; w.queue = w.queue[1:] {
		state := w.queue[0]
		size += bytesPerState + 8*(len(e.bytes)+1) + 4*len(state)
		w.leave(state)
	}
	if w.visits > maxVisits {
		return fullAutomaton
	}
	return min(size, fullAutomaton)
}

// walk goes through the states of an automaton. A state is the sorted list of the instructions that may read the next
// character.
type walk struct {
	*expression
	queue  [][]uint32      // states that were reached and not yet left
	known  map[string]bool // all states that were reached
	visits int
	// seen has for each instruction the last call of reach that met it.
	seen  []int
	calls int
	// stack, out and name are used again in each call.
	stack, out []uint32
	name       []byte
}

// newWalk returns a walk that has reached the first state.
func newWalk(e *expression) *walk {
	w := &walk{expression: e, seen: make([]int, len(e.program.Inst)), known: map[string]bool{}}
	w.reach([]uint32{uint32(e.program.Start)})
	return w
}

// leave reaches all states that follow a state. It stops when the visits exceed maxVisits, because the state of a large
// expression has many instructions, and a state may follow for each of 256 bytes.
func (w *walk) leave(state []uint32) {
	tried := map[string]bool{}
	for _, b := range w.bytes {
		if w.visits > maxVisits {
			return
		}
		out, name := w.out[:0], w.name[:0]
		for _, pc := range state {
			if w.reads[pc].has(b) {
				out = append(out, w.program.Inst[pc].Out)
				name = binary.NativeEndian.AppendUint32(name, w.program.Inst[pc].Out)
			}
		}
		w.out, w.name = out, name
		if len(out) > 0 && !tried[string(name)] {
			tried[string(name)] = true
			w.reach(out)
		}
	}
}

// reach adds the state of the instructions that read a character and that the given ones lead to without reading one. It
// takes all anchors and word boundaries for met, so that the automaton has a few states more than in Envoy.
func (w *walk) reach(from []uint32) {
	w.calls++
	var state []uint32
	for w.stack = append(w.stack[:0], from...); len(w.stack) > 0; {
		pc := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		if w.seen[pc] == w.calls {
			continue
		}
		w.seen[pc] = w.calls
		switch inst := &w.program.Inst[pc]; {
		case inst.Op == syntax.InstMatch, reads(inst):
			state = append(state, pc)
		case inst.Op == syntax.InstAlt, inst.Op == syntax.InstAltMatch:
			w.stack = append(w.stack, inst.Out, inst.Arg)
		case inst.Op != syntax.InstFail:
			w.stack = append(w.stack, inst.Out)
		}
	}
	slices.Sort(state)
	w.name = w.name[:0]
	for _, pc := range state {
		w.name = binary.NativeEndian.AppendUint32(w.name, pc)
	}
	if w.visits += len(state); !w.known[string(w.name)] {
		w.known[string(w.name)] = true
		w.queue = append(w.queue, state)
	}
}
