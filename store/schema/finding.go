package schema

import "strings"

// Finding is one mistake in one object. It has no file: the store adds the place in the text.
type Finding struct {
	// Code is one of the codes below.
	Code string
	// Field is the path from the object's root: names joined by dots, indexes
	// and the keys of free maps in brackets, as in
	// spec.rules[0].matches[1].path.value and metadata.labels[app.io/name].
	// For a missing field it is the path the field would have; for a rule of
	// several fields it is what they have in common; "" is the whole object.
	Field string
	// Message says what is wrong, Hint what to do (it may be empty). Neither contains values of
	// a Secret.
	Message string
	Hint    string
	// Warning is true if the object is used in spite of the mistake.
	Warning bool
}

// The codes of findings. They are stable: users filter by them.
const (
	UnknownField      = "UnknownField"      // no such field there; it is pruned
	NotServed         = "NotServed"         // kgateway has it, and gatefold does not serve it
	RequiredField     = "RequiredField"     // a field is missing
	WrongType         = "WrongType"         // such as a number where a string belongs
	NotAllowedValue   = "NotAllowedValue"   // not one of the values that are allowed
	InvalidValue      = "InvalidValue"      // against a pattern, a range, a least length
	TooLong           = "TooLong"           // more characters than allowed
	TooMany           = "TooMany"           // more items than allowed
	DuplicateEntry    = "DuplicateEntry"    // twice in a list whose items must differ
	RuleViolated      = "RuleViolated"      // against a rule over several fields
	UnknownVersion    = "UnknownVersion"    // the kind exists, but not in this version
	DeprecatedVersion = "DeprecatedVersion" // the version works, but is on its way out
)

// OfKey reports whether the name of the field is wrong, not its value.
func (f Finding) OfKey() bool {
	return f.Code == UnknownField || f.Code == NotServed && strings.HasPrefix(f.Message, fieldNotServed)
}

// blocks reports whether the API server would skip the CEL rules of an object
// with such a finding, since they may rely on what is broken. What is not served is
// reported once, and not again by the rule that misses it.
func blocks(code string) bool {
	switch code {
	case NotServed, RequiredField, NotAllowedValue, WrongType, TooLong, TooMany:
		return true
	}
	return false
}
