package counted

import "regexp/syntax"

// size is the number of instructions of an expression as Go compiles it, with what the compiler must know of a part to
// count the whole.
type size struct {
	instructions int
	op           syntax.Op // after simplification
	lazy         bool      // a repetition that prefers few, such as "a*?"
	nullable     bool      // matches the empty text
	none         bool      // matches nothing
}

// compiledSize returns how many instructions syntax.Compile makes of an expression, at most mostCounted. It does what
// Regexp.Simplify and syntax.Compile do, and makes nothing.
func compiledSize(re *syntax.Regexp) int {
	return min(mostCounted, sizeOf(re).instructions+2) // one that fails is first, one that matches is last
}

func sizeOf(re *syntax.Regexp) size {
	out := size{op: re.Op, instructions: 1, nullable: true}
	switch re.Op {
	case syntax.OpNoMatch:
		return size{op: re.Op, none: true}
	case syntax.OpLiteral:
		out.instructions, out.nullable = max(1, len(re.Rune)), len(re.Rune) == 0
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.nullable = false
	case syntax.OpCapture:
		out = sizeOf(re.Sub[0])
		out.op, out.instructions = re.Op, out.instructions+2
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return repeated(re.Op, re.Flags, sizeOf(re.Sub[0]))
	case syntax.OpRepeat:
		return unrolled(re)
	case syntax.OpConcat:
		if len(re.Sub) > 0 {
			out.instructions = 0
		}
		for _, sub := range re.Sub {
			out = followedBy(out, sizeOf(sub))
		}
	case syntax.OpAlternate:
		out = size{op: re.Op, none: true}
		for _, sub := range re.Sub {
			out = orElse(out, sizeOf(sub))
		}
	}
	out.instructions = min(mostCounted, out.instructions)
	return out
}

// followedBy returns the size of a concatenation with one part more.
func followedBy(out, part size) size {
	out.instructions = min(mostCounted, out.instructions+part.instructions)
	out.nullable, out.none = out.nullable && part.nullable, out.none || part.none
	return out
}

// orElse returns the size of an alternation with one alternative more.
func orElse(out, part size) size {
	out.instructions = min(mostCounted, out.instructions+part.instructions)
	if !out.none && !part.none {
		out.instructions++
	}
	out.nullable, out.none = out.nullable || part.nullable, out.none && part.none
	return out
}

// repeated returns the size of a star, a plus or a "?" (op) of a part.
func repeated(op syntax.Op, flags syntax.Flags, part size) size {
	lazy := flags&syntax.NonGreedy != 0
	if part.op == syntax.OpEmptyMatch || part.op == op && part.lazy == lazy {
		return part
	}
	out := size{part.instructions + 1, op, lazy, true, false}
	switch {
	case op == syntax.OpStar && part.nullable:
		out.instructions++
	case op == syntax.OpPlus:
		out.nullable, out.none = part.nullable, part.none
	}
	return out
}

// unrolled returns the size of a repetition with numbers: x{2,4} is xx(x(x)?)?, and x{2,} is xx+.
func unrolled(re *syntax.Regexp) size {
	if re.Max == 0 {
		return size{op: syntax.OpEmptyMatch, instructions: 1, nullable: true}
	}
	part := sizeOf(re.Sub[0])
	switch {
	case re.Max < 0 && re.Min == 0:
		return repeated(syntax.OpStar, re.Flags, part)
	case re.Max < 0 && re.Min == 1:
		return repeated(syntax.OpPlus, re.Flags, part)
	case re.Min == 1 && re.Max == 1:
		return part
	}
	if re.Max < 0 {
		return followedBy(copiesOf(part, re.Min-1), repeated(syntax.OpPlus, re.Flags, part))
	}
	if re.Max == re.Min {
		return copiesOf(part, re.Min)
	}
	rest := repeated(syntax.OpQuest, re.Flags, part)
	if more := re.Max - re.Min - 1; more > 0 {
		rest = size{rest.instructions + more*(part.instructions+1), syntax.OpQuest, re.Flags&syntax.NonGreedy != 0, true, false}
	}
	if re.Min == 0 {
		return rest
	}
	return followedBy(copiesOf(part, re.Min), rest)
}

// copiesOf returns the size of a concatenation of n equal parts.
func copiesOf(part size, n int) size {
	return size{op: syntax.OpConcat, instructions: min(mostCounted, n*part.instructions), nullable: part.nullable, none: part.none}
}
