package cli

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/listen"
	"github.com/gatefold/gatefold/translate/xds"
	"github.com/gatefold/gatefold/watcher"
)

// folderOptions bound what is read of a folder (docs/design/safety.md), and say how
// its routes are read. serve, validate, translate and explain take the same, so
// that they see the same.
type folderOptions struct {
	tree   watcher.Limits
	store  store.Limits
	routes translate.Options
	guard  guardOptions
	// secrets is a folder of Secrets, "" for none.
	secrets string

	// exclude are patterns of what is left out, beside those of .gatefoldignore.
	exclude []string
	// prefix is put before the paths of the folder's files (pathPrefix).
	prefix string

	save, saveSecrets bool               // store.Options, of serve
	progress          func(done, of int) // the same

	translators func(translate.Options) translator // translate.New, but for tests of its mistakes
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
	flags.IntVar(&o.routes.MaxCopies, "max-copies", 0, "maximum copies of route matches over all hosts and ports, beyond 32 for each match (default 50000)")
	flags.IntVar(&o.routes.MaxDepth, "max-delegation-depth", 0, "largest number of HTTPRoutes above each other, root and leaf included (default 32)")
	flags.StringVar(&o.routes.WildcardNamespace, "delegation-wildcard-namespace", "all", "the namespace that stands for all in a reference to routes by label")
	flags.IntVar(&o.routes.Shards, "route-shards", 0, "spread the hosts of each port or wildcard certificate over so many tables, a power of two up to 64, so that an edit of one among thousands of hosts costs Envoy less (docs/scale.md; 0 for one table)")
	flags.BoolVar(&o.routes.Weighted, "weighted-route-precedence", false, "let the annotation kgateway.dev/route-weight order HTTPRoutes before all else")
	flags.StringVar((*string)(&o.routes.WeightScope), "route-weight-scope", string(translate.VirtualHost), "with weights: virtual-host (against all routes of the host) or siblings (against what stands below the same match of a parent)")
}

// check refuses limits that mean nothing, where 0 is the default, and words that
// cannot be a namespace or are no scope.
func (o *folderOptions) check() error {
	least := min(o.tree.FileBytes, o.tree.TreeBytes, int64(o.tree.Files), int64(o.store.Documents), int64(o.store.Objects), int64(o.routes.MaxDepth), int64(o.routes.MaxRoutes), int64(o.routes.MaxCopies))
	if least < 0 {
		return fmt.Errorf("%d is not a limit: the --max- flags take numbers above 0", least)
	}
	if shards := o.routes.Shards; shards < 0 || shards == 1 || shards > xds.MaxShards || shards&(shards-1) != 0 {
		return fmt.Errorf("--route-shards %d: must be 0, or a power of two from 2 to %d", shards, xds.MaxShards)
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

// watched returns how the folder dir is read. Under path policies the ignore file counts
// only where it lies in --cluster-paths: anybody else could leave out files of others by it.
func (o *folderOptions) watched(dir string) (watcher.Options, error) {
	if err := watcher.CheckIgnore(o.exclude); err != nil {
		return watcher.Options{}, fmt.Errorf("--exclude: %w", err)
	}
	clusterPaths, err := o.guard.fence()
	if err != nil {
		return watcher.Options{}, err
	}
	ignore := watcher.Ignore{Globs: o.exclude, File: watcher.IgnoreRead}
	if len(clusterPaths) > 0 && !clusterPaths.Match(watcher.IgnoreFile) {
		ignore.File = watcher.IgnoreRefused
	}
	return watcher.Options{Root: dir, Limits: o.tree, Ignore: ignore}, nil
}

// steps are the two steps between a Tree and what is served.
type steps struct {
	store      *store.Store
	newStore   func() (*store.Store, error)
	secrets    *secretDir
	translator translator
	// translators makes a translator.
	translators func(translate.Options) translator
	routes      translate.Options
	prefix      string // folderOptions.prefix
	standing
}

func newSteps(ctx context.Context, o folderOptions, strict bool) (*steps, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	clusterPaths, err := o.guard.fence()
	if err != nil {
		return nil, err
	}
	if o.routes.Guard, err = o.guard.guard(); err != nil {
		return nil, err
	}
	options := store.Options{Strict: strict, Save: o.save, SaveSecrets: o.saveSecrets, Limits: o.store, ClusterPaths: clusterPaths, Progress: o.progress, PathPrefix: o.prefix}
	newStore := func() (*store.Store, error) { return store.New(options) }
	objects, err := newStore()
	if err != nil {
		return nil, err
	}
	secrets, err := openSecrets(ctx, o.secrets, o.tree)
	if err != nil {
		return nil, err
	}
	both := &steps{store: objects, newStore: newStore, secrets: secrets, routes: o.routes, prefix: o.prefix}
	if both.translators = o.translators; both.translators == nil {
		both.translators = func(options translate.Options) translator { return translate.New(options) }
	}
	both.translator = both.newTranslator()
	return both, nil
}

// newTranslator makes a Translator for the Envoys of this machine. A Gateway
// without addresses listens on all interfaces, of both families where IPv6 is
// there: an address that cannot be bound would cost the whole listener.
func (s *steps) newTranslator() translator {
	options := s.routes
	options.Bind = []string{"0.0.0.0"}
	if socket, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM, 0); err == nil {
		_ = syscall.Close(socket) // it was opened to see whether it can be
		options.Bind = append(options.Bind, "::")
	}
	return s.translators(options)
}

// apply takes a Tree of the folder, and the Secrets beside it. When ctx ends first, it
// returns its error, and nothing is taken.
func (s *steps) apply(ctx context.Context, tree watcher.Tree) (store.Change, error) {
	change, err := s.store.ApplyUntil(ctx, tree)
	if err != nil {
		return change, err
	}
	change.Problems = prefixed(change.Problems, s.prefix, tree.Root)
	return s.secrets.join(change), nil
}

// all is the Change that brings a fresh Translator to what apply has told of so far.
func (s *steps) all() store.Change { return s.secrets.overlay(s.store.Told()) }
