package manifest

import "cmp"

// Verdict is the reason and message of a status condition that is not met, such as Accepted. The zero Verdict
// means success.
type Verdict[R ~string] struct {
	Reason  R
	Message string
}

// Because returns a Verdict with a reason and a message.
func Because[R ~string](reason R, message string) Verdict[R] {
	return Verdict[R]{Reason: reason, Message: message}
}

// Good reports whether the Verdict is success: it has no reason.
func (v Verdict[R]) Good() bool { return v.Reason == "" }

// And combines two Verdicts. The result has the reason of v, or the reason of the parameter more if v is a
// success. The message has the messages of both, joined by a semicolon.
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
