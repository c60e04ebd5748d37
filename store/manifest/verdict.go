package manifest

import "cmp"

// Verdict is the reason and words of a condition that is not as one would wish;
// the zero Verdict is a good one.
type Verdict[R ~string] struct {
	Reason  R
	Message string
}

// Because returns the Verdict with a reason, and message for people.
func Because[R ~string](reason R, message string) Verdict[R] {
	return Verdict[R]{Reason: reason, Message: message}
}

// Good reports whether there is nothing to complain of.
func (v Verdict[R]) Good() bool { return v.Reason == "" }

// And joins what else there is to say: the reason is that of the first with one,
// the message names both.
func (v Verdict[R]) And(more Verdict[R]) Verdict[R] {
	out := Verdict[R]{Reason: cmp.Or(v.Reason, more.Reason), Message: v.Message}
	switch {
	case v.Message == "":
		out.Message = more.Message
	case more.Message != "":
		out.Message += "; " + more.Message
	}
	return out
}
