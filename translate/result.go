// Package translate turns store.Change into Result.
package translate

import (
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate/status"
	"github.com/gatefold/gatefold/translate/xds"
)

// Result is what one Change made of the configuration.
type Result struct {
	// Delta holds the resources that changed, and no others.
	Delta []xds.Update
	// Status holds the status of objects that changed.
	Status []status.Update
	// Problems holds every problem that stands now.
	Problems []store.Problem
	View     *View
	// Rebuilt names the rules that ran.
	Rebuilt []string
}

// View is a reading of the routes.
type View struct{}
