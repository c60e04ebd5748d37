package engine

import (
	"context"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
)

// foresee returns the problems that appear when objects come that the folder lacks: certificates, which a repository
// never has, and a GatewayClass of gatefold, if none of the Gateways has one. The parameter result is the Result for
// the change. The problems have no places. foresee translates the change again with these objects assumed, at most
// twice, and not at all if nothing is missing.
func foresee(ctx context.Context, folder Folder, change store.Change, result translate.Result) (foreseen []manifest.Problem, err error) {
	if folder.Like != nil {
		return nil, nil
	}
	known := map[string]bool{}
	problems := result.Problems
	for {
		assume := missing(change.Set, problems)
		assume.Classes = assume.Classes || folder.Routes.Assume.Classes
		if assume == folder.Routes.Assume {
			return foreseen, nil
		}
		for _, p := range problems {
			known[sameness(p)] = true
		}
		folder.Routes.Assume = assume
		translator := folder.translator()
		if err := translator.Take(ctx, change); err != nil {
			return nil, err
		}
		problems = translator.Apply(store.Change{}).Problems
		for _, p := range problems {
			if known[sameness(p)] || assume.Certificates && p.Code == "CertificateMismatch" { // nobody knows its hosts
				continue
			}
			p.Message = conditions(assume) + p.Message
			if assume.Classes { // now nothing is served wrongly
				p.Severity = manifest.Warning
			}
			foreseen = append(foreseen, p)
		}
		if assume.Certificates {
			return foreseen, nil
		}
	}
}

// missing returns what to assume for objects with these problems.
func missing(objects []*manifest.Object, problems []manifest.Problem) (assume translate.Assumptions) {
	gateways, classless := 0, map[manifest.Key]bool{}
	for _, o := range objects {
		if o.Key.Kind == "Gateway" {
			gateways++
		}
	}
	for _, p := range problems {
		switch p.Code {
		case "InvalidCertificateRef", "InvalidCACertificateRef":
			assume.Certificates = true
		case "GatewayClassNotFound", "ForeignGatewayClass":
			classless[p.Object] = true
		}
	}
	assume.Classes = gateways > 0 && len(classless) == gateways
	return assume
}

// conditions returns what is assumed, as the beginning of a message.
func conditions(assume translate.Assumptions) string {
	switch {
	case assume.Classes && assume.Certificates:
		return "when the Gateways have a class of gatefold, and the missing certificates exist: "
	case assume.Classes:
		return "when the Gateways have a class of gatefold: "
	}
	return "when the missing certificates exist: "
}

// sameness returns what makes a problem the same in two translations.
func sameness(p manifest.Problem) string {
	return p.Code + "\n" + p.Object.String() + "\n" + p.Field + "\n" + p.Message
}
