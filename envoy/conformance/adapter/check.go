package adapter

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// check is the compiled schema of one version of a kind.
type check struct {
	structural *schema.Structural
	values     validation.SchemaValidator
	rules      func() *cel.Validator // returns nil if the schema has no CEL rules
}

// complete returns a copy of content without unknown fields and with default values.
func (c *check) complete(content map[string]any) map[string]any {
	full := runtime.DeepCopyJSON(content)
	pruning.Prune(full, c.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(full, c.structural)
	defaulting.Default(full, c.structural)
	return full
}

// created returns the validation errors of a new object. The parameter full is the result of complete.
func (c *check) created(full map[string]any) field.ErrorList {
	wrong := validation.ValidateCustomResource(nil, full, c.values)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, c.structural, full)...)
	return c.obey(wrong, full, nil)
}

// updated returns the validation errors of an object that replaces another one. The parameters are results of
// complete: full is the new object, and before is the previous one. Like an API server, it ignores errors that
// the previous object had too and that did not change (ratcheting). If the previous object had duplicates in list
// sets or list maps, it ignores all duplicates of the new object.
func (c *check) updated(full, before map[string]any) field.ErrorList {
	correlated := common.NewCorrelatedObject(full, before, &model.Structural{Structural: c.structural})
	wrong := validation.ValidateCustomResourceUpdate(nil, full, before, c.values, validation.WithRatcheting(correlated))
	if len(listtype.ValidateListSetsAndMaps(nil, c.structural, before)) == 0 {
		wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, c.structural, full)...)
	}
	return c.obey(wrong, full, before, cel.WithRatcheting(correlated))
}

// obey appends the errors of the CEL rules to the list wrong. If this list already has, for example, an error about
// a missing field or a wrong type, the rules could fail to run. In this case obey appends only a note that the rules
// were not checked.
func (c *check) obey(wrong field.ErrorList, full, before map[string]any, options ...cel.Option) field.ErrorList {
	for _, w := range wrong {
		switch w.Type {
		case field.ErrorTypeRequired, field.ErrorTypeNotSupported, field.ErrorTypeTypeInvalid, field.ErrorTypeTooLong, field.ErrorTypeTooMany:
			return append(wrong, field.Invalid(nil, nil, "the rules were not checked: fix the other errors first"))
		}
	}
	rules := c.rules()
	if rules == nil {
		return wrong
	}
	var old any
	if before != nil {
		old = before
	}
	broken, _ := rules.Validate(context.Background(), nil, c.structural, full, old, celconfig.RuntimeCELCostBudget, options...)
	return append(wrong, broken...)
}

// status returns an error if the status of the object full is invalid. It applies the rules by which an API
// server checks a written status, and ignores errors of other fields.
func (c *check) status(full map[string]any) error {
	wrong := validation.ValidateCustomResource(nil, full, c.values)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, c.structural, full)...)
	for _, w := range wrong {
		if strings.HasPrefix(w.Field, "status") {
			return fmt.Errorf("the published status is not valid: %w", w)
		}
	}
	return nil
}
