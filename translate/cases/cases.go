// Package cases reads behaviour cases: text archives that state a sentence of a
// specification, the files of a folder, and by hand what must happen to
// requests. Tests run each case through the View and through a real Envoy.
//
// The comment of an archive is its heading: the sentence it proves, and where
// that stands. Its files are
//
//	in/NAME             a file of the folder
//	requests            what must happen to requests, a line each (docs/reference/tests.md)
//	want/xds.yaml       the resources, in protobuf JSON (only where present)
//	want/status.yaml    the statuses (only where present)
//	want/problems       the problems (only where present)
//	want/messages       the problems in words (only where present)
//	edit N/in/NAME      a file that edit N writes; an empty one is removed
//	edit N/requests, edit N/want/…  as above, after edit N
//	edit N/rebuilt      the rules that ran for the edit (only where present)
//	options             translate.Options, a line each: weighted,
//	                    weight-scope WORD, wildcard-namespace WORD, trusted-hops N, max-depth N, max-copies N,
//	                    address-pool CIDR in the network of backends, system-ca AUTHORITY
//	                    (that of the system that Envoy runs on, missing for a system
//	                    without; only where present)
//
//	tls                 backends that speak TLS, a line each:
//	                    ADDRESS AUTHORITY NAME[,NAME]... [client AUTHORITY]
//	                    (only where present)
//
// The authorities of backends and clients are those of envoytest.FixedAuthority; with
// client, the backend wants a certificate of that authority.
//
// Every case is also run with its files and documents in reverse; a heading
// that says "order matters" leaves that out.
//
// With -update, tests rewrite wants and rebuilt, and never requests. Addresses
// of backends are written as 127.9.0.N; tests move them to a free network.
package cases

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/xds"
	"github.com/gatefold/gatefold/watcher"
)

// Client is the address that tests send requests from, unless a line says another one.
const Client = "127.0.0.1"

// Network is the network prefix of backends in the case files.
const Network = "127.9."

// Case is one archive.
type Case struct {
	Name    string
	Heading string
	// NeedsEnvoy is the first release that serves all of it: rules answer 500 on an older Envoy.
	NeedsEnvoy xds.Release
	differs    []difference
	// Steps are the initial folder and every edit.
	Steps []Step
	// Options are the options of the archive; a test adds its own.
	Options translate.Options
	// SystemCA is the name of the authority that stands for the system's CA certificates, ""
	// for the real ones.
	SystemCA string
	// TLS are the backends that speak TLS, by their address in the case.
	TLS     map[string]TLSBackend
	path    string
	archive *txtar.Archive
}

// TLSBackend is a backend that speaks TLS.
type TLSBackend struct {
	// Authority is the authority that signed its certificate, which is for Names.
	Authority string
	Names     []string
	// Client is the authority whose client certificates it accepts, "" for none.
	Client string
}

// Step is the state of the folder after one edit.
type Step struct {
	// Prefix is "" for the initial folder, else "edit N/".
	Prefix   string
	Files    map[string]string // the whole folder
	Requests []expect.Request
}

// Load reads the archives of a folder, in the order of their names.
func Load(folder string) ([]*Case, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil {
		return nil, fmt.Errorf("list cases: %w", err)
	}
	var out []*Case
	for _, path := range paths {
		c, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// difference is what older Envoys do otherwise: the option "differs-before 1.39 TEXT" is about the lines with
// that text.
type difference struct {
	before xds.Release
	lines  string
}

// Differs reports whether an Envoy of this release does something else than a line of the case says.
func (c *Case) Differs(line string, of xds.Release) bool {
	return slices.ContainsFunc(c.differs, func(d difference) bool { return of.Before(d.before) && strings.Contains(line, d.lines) })
}

// needsEnvoy is what a heading says of Envoy's version; an example says it by the option needs-envoy.
var needsEnvoy = regexp.MustCompile(`Needs Envoy (\d+\.\d+)\.`)

func read(path string) (*Case, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(archive.Comment)) == "" {
		return nil, fmt.Errorf("no heading: name the sentence that the case proves")
	}
	return newCase(strings.TrimSuffix(filepath.Base(path), ".txtar"), path, archive)
}

func newCase(name, path string, archive *txtar.Archive) (*Case, error) {
	c := &Case{Name: name, Heading: strings.TrimSpace(string(archive.Comment)), path: path, archive: archive}
	if needs := needsEnvoy.FindStringSubmatch(c.Heading); needs != nil {
		c.NeedsEnvoy = xds.ReleaseOf(needs[1])
	}
	if err := c.readOptions(); err != nil {
		return nil, err
	}
	if err := c.readTLS(); err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, prefix := range c.prefixes() {
		step, err := c.step(prefix, files)
		if err != nil {
			return nil, err
		}
		files = step.Files
		c.Steps = append(c.Steps, step)
	}
	return c, nil
}

func (c *Case) readOptions() error {
	text, _ := c.File("options")
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "weighted":
			c.Options.Weighted = true
		case "weight-scope":
			c.Options.WeightScope = translate.WeightScope(value)
		case "wildcard-namespace":
			c.Options.WildcardNamespace = value
		case "trusted-hops":
			hops, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return fmt.Errorf("options: trusted-hops: %w", err)
			}
			c.Options.TrustedHops = uint32(hops)
		case "needs-envoy":
			c.NeedsEnvoy = xds.ReleaseOf(value)
		case "differs-before":
			version, lines, _ := strings.Cut(value, " ")
			c.differs = append(c.differs, difference{xds.ReleaseOf(version), lines})
		case "system-ca":
			c.SystemCA = value
		case "address-pool":
			pool, err := netip.ParsePrefix(value)
			if err != nil {
				return fmt.Errorf("options: address-pool: %w", err)
			}
			c.Options.AddressPool = pool
		case "max-depth":
			depth, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("options: max-depth: %w", err)
			}
			c.Options.MaxDepth = depth
		case "max-copies":
			copies, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("options: max-copies: %w", err)
			}
			c.Options.MaxCopies = copies
		default:
			return fmt.Errorf("options: unknown option %q", name)
		}
	}
	return nil
}

func (c *Case) readTLS() error {
	text, _ := c.File("tls")
	c.TLS = map[string]TLSBackend{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 && (len(words) != 5 || words[3] != "client") {
			return fmt.Errorf("tls: want ADDRESS AUTHORITY NAME[,NAME]... [client AUTHORITY], got %q", line)
		}
		b := TLSBackend{Authority: words[1], Names: strings.Split(words[2], ",")}
		if len(words) == 5 {
			b.Client = words[4]
		}
		c.TLS[words[0]] = b
	}
	return nil
}

func (c *Case) prefixes() []string {
	out := []string{""}
	for n := 1; ; n++ {
		prefix := fmt.Sprintf("edit %d/", n)
		if !slices.ContainsFunc(c.archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, prefix) }) {
			return out
		}
		out = append(out, prefix)
	}
}

func (c *Case) step(prefix string, before map[string]string) (Step, error) {
	step := Step{Prefix: prefix, Files: maps.Clone(before)}
	for _, file := range c.archive.Files {
		if name, ok := strings.CutPrefix(file.Name, prefix+"in/"); ok {
			step.Files[name] = string(file.Data)
			if len(file.Data) == 0 {
				delete(step.Files, name)
			}
		}
	}
	text, _ := c.File(prefix + expect.Name)
	requests, problems := expect.Parse(prefix+expect.Name, []byte(text))
	for _, p := range problems {
		return step, fmt.Errorf("%s: %s; %s", p.Position(), p.Message, p.Hint)
	}
	step.Requests = requests
	return step, nil
}

// File returns a file of the archive by its whole name.
func (c *Case) File(name string) (text string, ok bool) {
	for _, file := range c.archive.Files {
		if file.Name == name {
			return string(file.Data), true
		}
	}
	return "", false
}

// Update replaces a file of the archive on disk.
func (c *Case) Update(name, text string) error {
	for i := range c.archive.Files {
		if c.archive.Files[i].Name == name {
			c.archive.Files[i].Data = []byte(text)
		}
	}
	if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
		return fmt.Errorf("update case: %w", err)
	}
	return nil
}

// Tree returns the step's folder with the addresses of backends moved to another network, such
// as "127.31.".
func (s Step) Tree(network string) watcher.Tree {
	files := map[string][]byte{}
	for name, text := range s.Files {
		files[name] = []byte(strings.ReplaceAll(text, Network, network))
	}
	return Tree(files)
}

// Pool returns an address pool with its network moved in the same way.
func Pool(pool netip.Prefix, network string) netip.Prefix {
	moved, err := netip.ParsePrefix(strings.Replace(pool.String(), Network, network, 1))
	if err != nil {
		return pool // there is none
	}
	return moved
}

// Tree returns a Tree with the given files.
func Tree(files map[string][]byte) watcher.Tree {
	var all []watcher.File
	for path, content := range files {
		all = append(all, watcher.File{Path: path, Content: content, Hash: sha256.Sum256(content)})
	}
	return watcher.Tree{Root: ".", Files: watcher.FilesOf(all...)}
}
