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
	rules      func() *cel.Validator // gives nil where the schema has none
}

// complete gives a copy of content without unknown fields and with defaults.
func (c *check) complete(content map[string]any) map[string]any {
	full := runtime.DeepCopyJSON(content)
	pruning.Prune(full, c.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(full, c.structural)
	defaulting.Default(full, c.structural)
	return full
}

// created says what is wrong with a complete object that is new.
func (c *check) created(full map[string]any) field.ErrorList {
	wrong := validation.ValidateCustomResource(nil, full, c.values)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, c.structural, full)...)
	return c.obey(wrong, full, nil)
}

// updated says what is wrong with a complete object that takes the place of
// another one. As in an API server, what was wrong before and did not change is
// let pass (ratcheting).
func (c *check) updated(full, before map[string]any) field.ErrorList {
	correlated := common.NewCorrelatedObject(full, before, &model.Structural{Structural: c.structural})
	wrong := validation.ValidateCustomResourceUpdate(nil, full, before, c.values, validation.WithRatcheting(correlated))
	if len(listtype.ValidateListSetsAndMaps(nil, c.structural, before)) == 0 {
		wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, c.structural, full)...)
	}
	return c.obey(wrong, full, before, cel.WithRatcheting(correlated))
}

// obey runs the CEL rules, unless what is wrong already could make them err.
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

// status says what is wrong with a status, as an API server would of a write to
// the status of an object.
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
