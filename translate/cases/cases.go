// Package cases reads behaviour cases. A case is a text archive that states a sentence of a specification. It
// has the files of a folder, and, written by hand, what must happen to requests. Tests run each case through
// the View and through a real Envoy.
//
// The comment of an archive is its heading: the sentence that it proves, and where that sentence is written.
// Its files are
//
//	in/NAME             a file of the folder
//	requests            what must happen to requests, a line each (docs/reference/tests.md)
//	want/xds.yaml       the resources, in protobuf JSON (only if the case has it)
//	want/status.yaml    the statuses (only if the case has it)
//	want/problems       the problems (only if the case has it)
//	want/messages       the problems as text (only if the case has it)
//	edit N/in/NAME      a file that edit N writes; an empty one is removed
//	edit N/requests, edit N/want/…  as above, after edit N
//	edit N/rebuilt      the rules that ran for the edit (only if the case has it)
//	options             translate.Options, a line each: weighted,
//	                    weight-scope WORD, wildcard-namespace WORD, trusted-hops N, max-depth N, max-copies N,
//	                    address-pool CIDR in the network of backends, system-ca AUTHORITY
//	                    (see Case.SystemCA), needs-envoy RELEASE (see Case.NeedsEnvoy),
//	                    cluster-paths PATTERNS (path policies are in force, see Case.Store),
//	                    differs-before RELEASE TEXT (see Case.Differs; only if the case has it)
//
//	tls                 backends that speak TLS, a line each:
//	                    ADDRESS AUTHORITY NAME[,NAME]... [client AUTHORITY]
//	                    (only if the case has it)
//
// An AUTHORITY is a certificate authority of envoytest.FixedAuthority. With client, the backend requires a
// client certificate of that authority.
//
// Tests also run every case with its files and documents in reverse order, unless its heading says "order
// matters".
//
// With -update, tests rewrite wants and rebuilt, and never requests. Addresses of backends are written as
// 127.9.0.N. Tests replace them by addresses of a free network.
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

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/tenancy"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/xds"
	"github.com/gatefold/gatefold/watcher"
)

// Client is the address that tests send requests from, unless a line says another address.
const Client = "127.0.0.1"

// Network is the network prefix of backends in the case files.
const Network = "127.9."

// Case is one behaviour case, as read from its text archive (see the comment of this package).
type Case struct {
	Name    string
	Heading string
	// NeedsEnvoy is the first Envoy release that serves all of the case. On an older Envoy some rules answer 500.
	NeedsEnvoy xds.Release
	differs    []difference
	// Steps are the initial folder and every edit.
	Steps []Step
	// Options are the options that the archive sets, in its file named options. A test adds its own options.
	Options translate.Options
	// Store are the options of the Store of the case: cluster paths, if the archive sets them.
	Store store.Options
	// SystemCA says which CA certificates replace those of the test machine: the certificate of the test
	// authority with this name. "missing" means that the file with CA certificates does not exist. "" means that
	// nothing is replaced.
	SystemCA string
	// TLS are the backends that speak TLS, by their address in the case.
	TLS     map[string]TLSBackend
	path    string
	archive *txtar.Archive
}

// TLSBackend is a backend that speaks TLS.
type TLSBackend struct {
	// Authority is the certificate authority that signed the backend's certificate. Names are the names in that
	// certificate.
	Authority string
	Names     []string
	// Client is the certificate authority whose client certificates the backend accepts. It is "" if the backend
	// requires no client certificate.
	Client string
}

// Step is the state of the folder at the beginning or after one edit, and what must happen to requests then.
type Step struct {
	// Prefix is "" for the initial folder, otherwise "edit N/".
	Prefix   string
	Files    map[string]string // the whole folder
	Requests []expect.Request
}

// Load returns the cases of the archives (*.txtar) in a folder, in the order of their names. It returns an error if
// an archive cannot be read or is invalid.
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

// difference is the option "differs-before 1.39 TEXT" of a case. It says that the lines of the case that contain
// TEXT do not hold for Envoys older than 1.39. The field before is 1.39, and the field lines is TEXT.
type difference struct {
	before xds.Release
	lines  string
}

// Differs reports whether Envoys of a release are known to answer a request differently than the case says. The
// parameter line is the line of the case with the request and the expected answer. A case lists such lines and
// releases with its option differs-before.
func (c *Case) Differs(line string, release xds.Release) bool {
	return slices.ContainsFunc(c.differs, func(d difference) bool { return release.Before(d.before) && strings.Contains(line, d.lines) })
}

// needsEnvoy matches the sentence in a heading that names the oldest Envoy release for the case. An example
// folder names the release by the option needs-envoy instead.
var needsEnvoy = regexp.MustCompile(`Needs Envoy (\d+\.\d+)\.`)

// read returns the case of an archive. It returns an error if the archive cannot be read, has no heading, or has an
// invalid file.
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

// newCase returns the case of an archive. The parameter path is the path of the archive's own file, "" if there is
// none. newCase returns an error if one of the files options, tls and requests in the archive is invalid.
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

// readOptions sets the options of the case from the file named options. It returns an error if an option is wrong.
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
		case "cluster-paths":
			globs, err := tenancy.Parse(value)
			if err != nil {
				return fmt.Errorf("options: cluster-paths: %w", err)
			}
			c.Store.ClusterPaths = globs
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

// readTLS sets the field TLS of the case from the file named tls. It returns an error if a line is wrong.
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

// prefixes returns what the names of the archive's files begin with: "" for the initial folder, and "edit 1/",
// "edit 2/" and so on for the edits.
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

// step returns a Step with its requests. The parameter prefix is the Prefix of the Step. The parameter before has
// the files of the folder before this Step. An empty file in the archive removes the file from the folder. step
// returns an error if a line of the requests is wrong.
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

// File returns the text of a file of the archive, by the full name of the file, such as "edit 1/requests". If the
// archive has no such file, ok is false.
func (c *Case) File(name string) (text string, ok bool) {
	for _, file := range c.archive.Files {
		if file.Name == name {
			return string(file.Data), true
		}
	}
	return "", false
}

// Update replaces the text of a file of the archive, and writes the archive to disk. It does not add a file
// that the archive lacks. It returns an error if writing fails.
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

// Tree returns the folder of the step as a watcher.Tree. Addresses of backends are moved from the constant Network to
// another network, which the parameter network names by a prefix such as "127.31.".
func (s Step) Tree(network string) watcher.Tree {
	files := map[string][]byte{}
	for name, text := range s.Files {
		files[name] = []byte(strings.ReplaceAll(text, Network, network))
	}
	return Tree(files)
}

// Pool returns an address pool with its addresses moved to another network, as Step.Tree moves addresses. An empty
// pool is returned unchanged.
func Pool(pool netip.Prefix, network string) netip.Prefix {
	moved, err := netip.ParsePrefix(strings.Replace(pool.String(), Network, network, 1))
	if err != nil {
		return pool // the pool is empty
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
