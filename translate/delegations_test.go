package translate

import (
	"strings"
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/ordered"
	"github.com/gatefold/gatefold/translate/route"
)

// TestTheTreeShowsTheReasonOfTheStatus: of several reasons why a Point does not accept a child, the tree shows the one
// that reasonUnder returns, whichever of them names a rule.
func TestTheTreeShowsTheReasonOfTheStatus(t *testing.T) {
	point := &route.Point{Name: "p"}
	ofRule, ofPoint := route.BindingRejection{Rule: point.At(), Reason: "OfRule"}, route.BindingRejection{Reason: "OfPoint"}
	for _, reasons := range [][]route.BindingRejection{{ofRule, ofPoint}, {ofPoint, ofRule}} {
		child := &rejectedChild{rejectedChildKey: rejectedChildKey{Child: manifest.Key{Kind: "HTTPRoute", Name: "child"}}, Points: []string{"p"}, Why: reasons}
		want, _ := child.reasonUnder(point)
		got := rejectedAtPoints(rejectedBelow{children: ordered.New(compareRejected).Insert(child)}).under(point)
		if len(got) != 1 || !strings.HasPrefix(got[0].Why, string(want.Reason)+":") {
			t.Errorf("the status has %s, the tree %+v", want.Reason, got)
		}
	}
}
