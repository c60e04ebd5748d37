package memo

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic in the function of a rule or a fold. Flush returns it as an error.
type Panic struct {
	Family string // the rule or fold
	// Keys has the key of the rule, followed by the keys of the rules that were reading it, from the inside out. Of a
	// fold, it has the key.
	Keys []any
	// Members has the IDs of the members of a fold that changed.
	Members []any
	Value   any    // what was passed to panic
	Stack   []byte // of the goroutine
}

// Error implements error.
func (p *Panic) Error() string {
	return fmt.Sprintf("%s %v: %v", p.Family, p.Keys[len(p.Keys)-1], p.Value)
}

// panicked returns the Panic of a rule or fold. The parameter said is the result of recover, which is a *Panic already if
// another rule panicked that this one was reading.
func panicked(said any, family string, key any) *Panic {
	if p, inner := said.(*Panic); inner {
		p.Keys = append(p.Keys, key)
		return p
	}
	return &Panic{Family: family, Keys: []any{key}, Value: said, Stack: debug.Stack()}
}
