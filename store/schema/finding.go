package schema

import "strings"

// Finding is one mistake in one object. It has no file and line; package store adds these.
type Finding struct {
	// Code is one of the codes below.
	Code string
	// Field is the path from the object's root. Names are joined by dots. Indexes and the keys of maps are in
	// brackets, for example spec.rules[0].matches[1].path.value and metadata.labels[app.io/name]. For a missing
	// field it is the path that the field would have. For a rule about several fields it is the path of the
	// object that has these fields. "" is the whole object.
	Field string
	// Message says what is wrong. Hint says what to do; it may be "". Neither contains values of a Secret.
	Message string
	Hint    string
	// Warning is true if the object is used although it has the mistake.
	Warning bool
}

// The codes of findings. They are stable, because users filter by them.
const (
	UnknownField      = "UnknownField"      // the object has no such field; it is removed
	NotServed         = "NotServed"         // kgateway or the Gateway API has it, and gatefold does not serve it
	RequiredField     = "RequiredField"     // a field is missing
	WrongType         = "WrongType"         // for example a number instead of a string
	NotAllowedValue   = "NotAllowedValue"   // not one of the allowed values
	InvalidValue      = "InvalidValue"      // does not match a pattern, a range or a minimum length
	TooLong           = "TooLong"           // more characters than allowed
	TooMany           = "TooMany"           // more items than allowed
	DuplicateEntry    = "DuplicateEntry"    // twice in a list whose items must differ
	RuleViolated      = "RuleViolated"      // violates a CEL rule
	UnknownVersion    = "UnknownVersion"    // the kind does not exist, or not in this version
	DeprecatedVersion = "DeprecatedVersion" // the version works, and will be removed
	DeprecatedField   = "DeprecatedField"   // the field works, and will be removed
)

// OfKey reports whether the finding is about a field that must not be there. The position of such a finding in the
// file is the position of the field's name. The position of any other finding is the position of the field's value.
func (f Finding) OfKey() bool {
	switch f.Code {
	case UnknownField, NoEffectInKgateway:
		return true
	case NotServed:
		return strings.HasPrefix(f.Message, fieldNotServed) || strings.HasPrefix(f.Message, ignoredFieldNotServed)
	case NotInKgateway:
		return strings.Contains(f.Message, hasNoField)
	}
	return false
}

// blocks reports whether a finding with this code stops further checks of the object: its CEL rules and
// checker.more do not run. The API server does the same, because the rules may need the invalid fields.
// NotServed also stops further checks, so that no rule reports the same field again.
func blocks(code string) bool {
	switch code {
	case NotServed, RequiredField, NotAllowedValue, WrongType, TooLong, TooMany:
		return true
	}
	return false
}
