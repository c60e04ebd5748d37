package cli

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/watcher"
)

// folderOptions are the flags that limit what is read of a folder (docs/design/safety.md), and that configure
// how routes are translated. All commands that read a folder share them, so that their results agree.
type folderOptions struct {
	tree   watcher.Limits
	store  store.Limits
	routes translate.Options
	guard  guardOptions
	// secrets is the path of a separate folder of Secrets, or "".
	secrets string

	// exclude are patterns of files that are not read, in addition to .gatefoldignore.
	exclude []string
	// kgateway, if not nil, is the version of kgateway that objects are compared with.
	kgateway *schema.Kgateway
	// prefix is prepended to the displayed paths of files (pathPrefix).
	prefix string
	// foresee is engine.Folder.Foresee.
	foresee bool
	// The field like has the settings of a running gatefold. If like is not nil, it replaces the field routes. But if
	// overGuard is true, this command's flags for endpoint limits (guard) still apply.
	like      *translate.Surroundings
	overGuard bool
}

func (o *folderOptions) register(flags *pflag.FlagSet) { groupFlags(flags, o.add) }

func (o *folderOptions) add(flags *pflag.FlagSet) {
	o.guard.register(flags)
	o.tree = watcher.DefaultLimits()
	flags.StringVar(&o.secrets, "secret-dir", "", "a folder of Secrets without YAML: NAMESPACE/NAME/tls.crt, tls.key and ca.crt")
	flags.StringArrayVar(&o.exclude, "exclude", nil, "leave out what matches, such as drafts/ or **/*_test.yaml, as in "+watcher.IgnoreFile+" (syntax of gitignore); may be repeated")
	flags.Int64Var(&o.tree.FileBytes, "max-file-bytes", o.tree.FileBytes, "largest file that is read")
	flags.Int64Var(&o.tree.TreeBytes, "max-tree-bytes", o.tree.TreeBytes, "largest sum of files that is read")
	flags.IntVar(&o.tree.Files, "max-files", o.tree.Files, "largest number of files")
	flags.IntVar(&o.store.Documents, "max-documents", 0, "largest number of documents in one file (default 20000)")
	flags.IntVar(&o.store.Objects, "max-objects", 0, "largest number of objects (default 500000)")
	flags.TextVar(&o.routes.AddressPool, "address-pool", netip.Prefix{}, "a network such as 127.0.1.0/24: each Gateway that names no address listens on one of it (default: on all interfaces)")
	flags.Uint32Var(&o.routes.TrustedHops, "trusted-hops", 0, "number of trusted proxies in front of Envoy (for X-Forwarded-For)")
	flags.StringVar(&o.routes.SystemCA, "system-ca", translate.SystemCA, "where Envoy finds the CA certificates of its system, for a BackendTLSPolicy with wellKnownCACertificates")
	flags.IntVar(&o.routes.MaxRoutes, "max-routes-per-host", 0, "largest number of rules that delegation and inclusion may come to on one host (default 200000)")
	flags.IntVar(&o.routes.MaxCopies, "max-copies", 0, "what copies of route matches over all hosts and ports may cost Envoy beyond 4 for each match, in plain routes (default 50000)")
	flags.IntVar(&o.routes.MaxDepth, "max-delegation-depth", 0, "largest number of HTTPRoutes above each other, root and leaf included (default 32)")
	flags.StringVar(&o.routes.WildcardNamespace, "delegation-wildcard-namespace", "all", "the namespace that stands for all in a reference to routes by label")
	flags.BoolVar(&o.routes.Weighted, "weighted-route-precedence", false, "let the annotation kgateway.dev/route-weight order HTTPRoutes before all else")
	flags.StringVar((*string)(&o.routes.WeightScope), "route-weight-scope", string(translate.VirtualHost), "what a weight is compared with: virtual-host (all routes of the host) or siblings (the routes below the same match of a parent)")
}

// check returns an error if a limit, --address-pool, --delegation-wildcard-namespace or --route-weight-scope is
// invalid. A limit of 0 means the default.
func (o *folderOptions) check() error {
	least := min(o.tree.FileBytes, o.tree.TreeBytes, int64(o.tree.Files), int64(o.store.Documents), int64(o.store.Objects), int64(o.routes.MaxDepth), int64(o.routes.MaxRoutes), int64(o.routes.MaxCopies))
	if least < 0 {
		return fmt.Errorf("%d is not a limit: the --max- flags take numbers above 0", least)
	}
	if pool := o.routes.AddressPool; pool.IsValid() {
		if err := listen.CheckPool(pool); err != nil {
			return fmt.Errorf("--address-pool: %w", err)
		}
	}
	if word := o.routes.WildcardNamespace; word != "" && len(validation.IsDNS1123Label(word)) > 0 {
		return fmt.Errorf("--delegation-wildcard-namespace %q: must be a DNS label, such as all", word)
	}
	if scope := o.routes.WeightScope; scope != "" && scope != translate.VirtualHost && scope != translate.Siblings {
		return fmt.Errorf("--route-weight-scope %q: must be %s or %s", scope, translate.VirtualHost, translate.Siblings)
	}
	return nil
}

// folder checks the flags, and returns the settings with which engine reads and translates the folder dir. It
// returns an error if a flag is invalid. It also stores the endpoint limits (Guard) in o.routes. If o.overGuard is
// true, it replaces the limits in o.like, the settings of a running gatefold, too.
//
// The flag --cluster-paths has patterns for the files of the platform team. If the flag is set, the file
// .gatefoldignore is used only if a pattern matches it. Otherwise any team could write the file, and exclude the
// files of other teams.
func (o *folderOptions) folder(dir string) (folder engine.Folder, err error) {
	if err := o.check(); err != nil {
		return folder, err
	}
	if err := watcher.CheckIgnore(o.exclude); err != nil {
		return folder, fmt.Errorf("--exclude: %w", err)
	}
	clusterPaths, err := o.guard.fence()
	if err != nil {
		return folder, err
	}
	if o.routes.Guard, err = o.guard.guard(); err != nil {
		return folder, err
	}
	ignore := watcher.Ignore{Globs: o.exclude, File: watcher.IgnoreRead}
	if len(clusterPaths) > 0 && !clusterPaths.Match(watcher.IgnoreFile) {
		ignore.File = watcher.IgnoreForbidden
	}
	platform := func(path string) bool {
		return clusterPaths.Match(path) || strings.HasSuffix(path, "/") && clusterPaths.Match(path+"any.yaml")
	}
	if o.overGuard {
		o.like.Options.Guard = o.routes.Guard
	}
	return engine.Folder{
		Watch:  watcher.Options{Root: dir, Limits: o.tree, Ignore: ignore, Platform: platform},
		Store:  store.Options{Limits: o.store, ClusterPaths: clusterPaths, PathPrefix: o.prefix, Kgateway: o.kgateway},
		Routes: o.routes, Like: o.like, Secrets: o.secrets,
	}, nil
}
