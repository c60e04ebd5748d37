package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server/admin"
	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/translate/plan"
	"github.com/gatefold/gatefold/translate/plan/snapshot"
	"github.com/gatefold/gatefold/watcher"
)

// readPlace reads the files of one side of a plan. The parameter place is the argument for this side, and the
// parameter other is the argument for the other side. Each is a folder or git:REVISION:
//   - If place is a folder, readPlace reads that folder.
//   - If place is git:REVISION and other is a folder, readPlace reads the folder of other as it is in the commit.
//   - If both are git:REVISION, readPlace reads the working directory as it is in the commit of place.
//
// If the commit does not contain the folder, tree is empty and note is a message. The error means that a flag is
// invalid, or that the folder or the commit cannot be read.
func readPlace(ctx context.Context, place, other string, o folderOptions) (tree watcher.Tree, note string, err error) {
	revision, isGit := strings.CutPrefix(place, gitPrefix)
	switch {
	case !isGit:
		other = place
	case strings.HasPrefix(other, gitPrefix):
		other = "."
	}
	folder, err := o.folder(other)
	if err != nil {
		return tree, "", err
	}
	if isGit {
		dir, err := checkOut(ctx, revision, folder.Watch)
		switch {
		case errors.Is(err, errNew):
			note = fmt.Sprintf("%s is not in %s: it is compared with an empty folder", visible.Text(other), visible.Text(place))
		case err != nil:
			return tree, "", err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		folder.Watch.Root = dir
	}
	tree, err = watcher.Read(ctx, folder.Watch)
	return tree, note, err
}

// serverReport compares the configuration that a running gatefold serves with the files of a folder. The parameter
// place is that folder, or git:REVISION (see side). The files are read with the settings of the running gatefold,
// except for flags that the user set. serverReport returns an error if gatefold gives no valid answer or the files
// cannot be read.
func (o *planOptions) serverReport(ctx context.Context, place string, flags *pflag.FlagSet) (report *planned, err error) {
	head, before, err := o.askSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	folder := o.folder
	folder.like = &head.Surroundings
	folder.over(flags)
	after, note, err := folder.side(ctx, place)
	if err != nil {
		return nil, err
	}
	if after, err = snapshot.Through(head, after); err != nil {
		return nil, err
	}
	defer func() {
		if mistake := recover(); mistake != nil { // caused by data of another program
			err = fmt.Errorf("%s does not answer as gatefold does: %v", o.server.address, mistake)
		}
	}()
	return compareSides(ctx, [2]plan.Side{before, after}, note)
}

// side reads and translates one side of a plan. The parameter place is a folder or git:REVISION. For git:REVISION,
// side reads the current directory as it is in that commit. If the commit does not contain the current directory,
// side returns an empty plan.Side, and note says so. The error means that a flag is invalid, or that the folder or
// the commit cannot be read.
func (o *folderOptions) side(ctx context.Context, place string) (side plan.Side, note string, err error) {
	tree, note, err := readPlace(ctx, place, ".", *o)
	if err != nil {
		return side, "", err
	}
	folder, err := o.folder(place)
	if err != nil {
		return side, "", err
	}
	side, err = engine.ReadSide(ctx, folder, tree)
	return side, note, err
}

// askSnapshot requests the configuration that a running gatefold serves. The error means that there is no answer,
// or that this program cannot read the answer, for example because the running gatefold has another version.
func (o *planOptions) askSnapshot(ctx context.Context) (head snapshot.Head, side plan.Side, err error) {
	address := o.server.address
	err = o.server.stream(ctx, http.MethodGet, snapshot.Path, func(code int, body io.Reader) (err error) {
		switch code {
		case http.StatusOK:
			head, side, err = snapshot.Read(body)
		case http.StatusNotFound:
			return fmt.Errorf("gatefold at %s is too old for plan: %w", address, snapshot.ErrFormat)
		default:
			text, _ := io.ReadAll(io.LimitReader(body, 1<<16))
			return fmt.Errorf("%s answers %d: %s", address, code, said(text))
		}
		switch {
		case errors.Is(err, snapshot.ErrFormat):
			return fmt.Errorf("what gatefold at %s serves cannot be read: %w", address, err)
		case err != nil:
			return fmt.Errorf("%s does not answer as gatefold does: %w", address, rootCause(err))
		}
		return nil
	})
	side.Places = o.askPlaces(ctx)
	return head, side, o.server.orAsk(err, "to compare two folders, name both")
}

// askPlaces returns a function that asks a running gatefold for the places (file, line and column) of fields. The
// function asks for at most admin.MaxPlaces fields in one request, and sends as many requests as it needs. If a
// request fails, the function sends no more requests, and the places of the remaining fields are empty.
func (o *planOptions) askPlaces(ctx context.Context) func([]manifest.Field) []store.Place {
	return func(fields []manifest.Field) []store.Place {
		places := make([]store.Place, len(fields))
		for from := 0; from < len(fields); from += admin.MaxPlaces {
			part := fields[from:min(from+admin.MaxPlaces, len(fields))]
			question := url.Values{}
			for _, field := range part {
				text, _ := json.Marshal(field) // it cannot fail
				question.Add("field", string(text))
			}
			var list admin.PlaceList
			if err := o.server.getJSON(ctx, admin.PlacesPath+"?"+question.Encode(), &list); err != nil || len(list.Places) != len(part) {
				return places
			}
			copy(places[from:], list.Places)
		}
		return places
	}
}

// over overrides settings that were read from the running gatefold (o.like). If the user set the flag of a setting,
// the value of the flag replaces the setting. For the flags that limit endpoints (refuse-endpoints and
// allow-endpoints), over only sets o.overGuard: the method folder then uses the values of these flags.
func (o *folderOptions) over(flags *pflag.FlagSet) {
	to, from := &o.like.Options, &o.routes
	guard := func() { o.overGuard = true }
	for name, set := range map[string]func(){
		"address-pool":                  func() { to.AddressPool = from.AddressPool },
		"trusted-hops":                  func() { to.TrustedHops = from.TrustedHops },
		"system-ca":                     func() { to.SystemCA = from.SystemCA },
		"max-routes-per-host":           func() { to.MaxRoutes = from.MaxRoutes },
		"max-copies":                    func() { to.MaxCopies = from.MaxCopies },
		"max-delegation-depth":          func() { to.MaxDepth = from.MaxDepth },
		"delegation-wildcard-namespace": func() { to.WildcardNamespace = from.WildcardNamespace },
		"weighted-route-precedence":     func() { to.Weighted = from.Weighted },
		"route-weight-scope":            func() { to.WeightScope = from.WeightScope },
		"refuse-endpoints":              guard,
		"allow-endpoints":               guard,
	} {
		if flags.Changed(name) {
			set()
		}
	}
}
