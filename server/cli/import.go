package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/store/importer"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/visible"
	"github.com/gatefold/gatefold/watcher"
)

// The sources that import can read.
const (
	sourceCluster = "cluster"
	sourceIngress = "ingress"
	sourceTraefik = "traefik"
)

// importFlags are the flags of import.
type importFlags struct {
	out, secrets  string
	force, dryRun bool
	showSame      bool
	replace       []string
	entryPoints   []string
	options       importer.Options
	folder        folderOptions
	format        outputFormat
}

func importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import cluster|ingress|traefik FILE… | -",
		Short: "Write a folder from the configuration of another program",
		Long: "Write a folder from the objects of a cluster, as kubectl get -o yaml or -o json prints them: a file for each object;\n" +
			"or from Ingresses for ingress-nginx, with the Services, EndpointSlices and Secrets that they need;\n" +
			"or from the YAML files of Traefik's file provider (the dynamic configuration).\n" +
			"A report says what is refused and what is different, what protects first, and with --show-same what is the same.\n" +
			"Nothing that was closed becomes open: where a field or object that may protect is refused, its routes answer 500,\n" +
			"and the annotation gatefold.io/closed has the reason.\n" +
			"If what it protects cannot be said, nothing is written. The exit code is 1 if something is refused.\n" +
			"docs/guides/import.md has examples.",
		Example: "  kubectl get -o yaml -A gateways,httproutes,services,endpointslices,secrets | gatefold import cluster - --out ./folder --secret-dir ./secrets\n" +
			"  gatefold import cluster export.yaml --dry-run\n" +
			"  kubectl get -o yaml -A ingressclasses,ingresses,services,endpointslices,secrets,configmaps | gatefold import ingress - --out ./folder --secret-dir ./secrets\n" +
			"  gatefold import traefik dynamic/*.yml --out ./folder --entry-point internal=8081",
		Args: importArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			inputs, err := f.read(args[1:], cmd.InOrStdin())
			if err != nil {
				return err
			}
			result, err := f.run(cmd.Context(), args[0], inputs)
			if err != nil {
				return err
			}
			if !f.dryRun {
				if err := f.write(result.Files); err != nil {
					return err
				}
			}
			return f.print(cmd.OutOrStdout(), result)
		},
	}
	f.format.register(cmd.Flags(), formatText, formatJSON)
	f.folder.tree = watcher.DefaultLimits()
	cmd.Flags().StringVar(&f.out, "out", "", "the folder to write; it must be empty or not be there")
	cmd.Flags().StringVar(&f.secrets, "secret-dir", "", "the folder to write Secrets into, outside of --out; without it none is written")
	cmd.Flags().BoolVar(&f.force, "force", false, "write into folders that are not empty, and over files")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the report and the files, and write nothing; Secrets are not printed")
	cmd.Flags().BoolVar(&f.showSame, "show-same", false, "also list what is the same; -o json always does")
	cmd.Flags().StringArrayVar(&f.options.Accept, "accept", nil, "leave out an object (KIND/NAMESPACE/NAME), its field (…/FIELD), or a kind (KIND.GROUP), and close nothing for it; may be repeated")
	cmd.Flags().StringArrayVar(&f.replace, "replace-service", nil, "NAMESPACE/NAME=HOST:PORT: write a Backend in place of a Service; may be repeated")
	cmd.Flags().StringArrayVar(&f.options.IngressClasses, "ingress-class", nil, "the class of Ingresses to import, nginx if it is not set; Ingresses without a class are imported, too; may be repeated")
	cmd.Flags().StringArrayVar(&f.entryPoints, "entry-point", nil, "NAME=PORT: the port of an entry point of Traefik; web is 80 and websecure 443; may be repeated")
	return cmd
}

// importArguments returns an error unless the arguments are a known source and at least one file.
func importArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("import needs a source, cluster, ingress or traefik, and files; see '%s --help'", cmd.CommandPath())
	case !slices.Contains([]string{sourceCluster, sourceIngress, sourceTraefik}, args[0]):
		return fmt.Errorf("import: unknown source %q; known are cluster, ingress and traefik", args[0])
	case len(args) == 1:
		return fmt.Errorf("import needs files, or - for standard input; see '%s --help'", cmd.CommandPath())
	}
	return nil
}

// check parses the flags into f.options. It returns an error if a flag is invalid, or if a folder must not be
// written to. Without --dry-run, --out must be set.
func (f *importFlags) check() error {
	f.options.Secrets = f.secrets != ""
	f.options.Replace = map[string]importer.Address{}
	for _, text := range f.replace {
		service, address, err := readReplacement(text)
		if err != nil {
			return err
		}
		f.options.Replace[service] = address
	}
	f.options.EntryPoints = map[string]int{}
	for _, text := range f.entryPoints {
		name, port, _ := strings.Cut(text, "=")
		number, err := strconv.ParseUint(port, 10, 16)
		if name == "" || err != nil || number == 0 {
			return fmt.Errorf("--entry-point %q: write NAME=PORT", text)
		}
		f.options.EntryPoints[name] = int(number)
	}
	if f.dryRun {
		return nil
	}
	if f.out == "" {
		return errors.New("import needs --out, the folder to write, or --dry-run")
	}
	return checkFolders(f.out, f.secrets, f.force)
}

// readReplacement parses NAMESPACE/NAME=HOST:PORT. service is "NAMESPACE/NAME". The error names
// --replace-service.
func readReplacement(text string) (service string, address importer.Address, err error) {
	fail := func() (string, importer.Address, error) {
		return "", address, fmt.Errorf("--replace-service %q: write NAMESPACE/NAME=HOST:PORT", text)
	}
	service, target, ok := strings.Cut(text, "=")
	namespace, name, two := strings.Cut(service, "/")
	if !ok || !two || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(name)) > 0 {
		return fail()
	}
	host, port, err := net.SplitHostPort(target)
	number, wrong := strconv.ParseUint(port, 10, 16)
	if err != nil || wrong != nil || number == 0 {
		return fail()
	}
	if _, wrong := netip.ParseAddr(host); wrong != nil && !manifest.IsEndpointName(host) {
		return fail()
	}
	return service, importer.Address{Host: host, Port: int(number)}, nil
}

// read returns the documents in the named files. The name "-" means standard input. It returns an error if a file
// cannot be read, is TOML or is too large, or if a document in a file is invalid: it skips no document, because
// the document may protect a route.
func (f *importFlags) read(names []string, stdin io.Reader) ([]importer.Input, error) {
	in := inputs{stdin: stdin}
	var all []importer.Input
	for _, name := range names {
		if strings.HasSuffix(strings.ToLower(name), ".toml") {
			return nil, fmt.Errorf("%s: import reads no TOML: write the file as YAML", visible.Text(name))
		}
		content, err := in.readFile(name, f.folder.tree.FileBytes)
		if err != nil {
			return nil, err
		}
		if int64(len(content)) > f.folder.tree.FileBytes {
			return nil, fmt.Errorf("%s: more than %d bytes: split the file", visible.Text(name), f.folder.tree.FileBytes)
		}
		shown := name
		if name == standardInput {
			shown = stdinName
		}
		documents, err := importer.Read(shown, content)
		if err != nil {
			return nil, err
		}
		all = append(all, documents...)
	}
	return all, nil
}

// run imports the inputs and validates the result. If validation rejects an object, run makes the object fail
// closed, leaves it out, or removes a reference in it. Then run validates again, until it finds nothing more to
// change. It keeps problems that may only be due to objects outside of the inputs (see mayDependOnOtherFiles): for
// example, a reference to a Secret that another file defines. The error means that the inputs cannot be imported.
func (f *importFlags) run(ctx context.Context, source string, inputs []importer.Input) (importer.Result, error) {
	read := map[string]func([]importer.Input, importer.Options) (*importer.Objects, error){
		sourceCluster: importer.Cluster, sourceIngress: importer.Ingress, sourceTraefik: importer.Traefik,
	}[source]
	objects, err := read(inputs, f.options)
	if err != nil {
		return importer.Result{}, err
	}
	for {
		problems, err := f.validate(ctx, objects.Manifests())
		if err != nil {
			return importer.Result{}, err
		}
		if !objects.Settle(problems, mayDependOnOtherFiles) {
			return objects.Result(problems), nil
		}
	}
}

// validate returns the problems that the command validate would report for these files. The error means that
// validation failed, for example because ctx has ended.
func (f *importFlags) validate(ctx context.Context, files []importer.File) ([]manifest.Problem, error) {
	var tree watcher.Tree
	var read []watcher.File
	for _, file := range files {
		read = append(read, watcher.File{Path: file.Path, Content: file.Content, Hash: sha256.Sum256(file.Content)})
	}
	tree.Files = watcher.FilesOf(read...)
	all, err := engine.ReadTree(ctx, engine.Folder{Watch: watcher.Options{Limits: f.folder.tree}}, tree)
	return all.Problems, err
}

// importReport is the JSON output of import. Its format is stable.
type importReport struct {
	// Refused, Different and Same are the numbers of verdicts of each class.
	Refused   int `json:"refused"`
	Different int `json:"different"`
	Same      int `json:"same"`
	// Blocked is true if no file may be written.
	Blocked  bool               `json:"blocked"`
	Verdicts []importer.Verdict `json:"verdicts"`
	Files    []importedFile     `json:"files"`
}

// importedFile is a file that import writes.
type importedFile struct {
	Path string `json:"path"`
	// Secret is true if the file belongs in the folder of Secrets.
	Secret bool `json:"secret,omitempty"`
	// Content is the content of the file if --dry-run is set. It is "" for Secrets, and without --dry-run.
	Content string `json:"content,omitempty"`
}

// print prints the report. It returns errFindings if something is refused.
func (f *importFlags) print(w io.Writer, result importer.Result) error {
	n := importer.Count(result.Verdicts)
	if f.format == formatJSON {
		report := importReport{
			Refused: n[importer.Refused], Different: n[importer.Different], Same: n[importer.Same], Blocked: result.Blocked,
			Verdicts: append([]importer.Verdict{}, result.Verdicts...), Files: []importedFile{},
		}
		for _, file := range result.Files {
			shown := importedFile{Path: file.Path, Secret: file.Secret}
			if f.dryRun && !file.Secret {
				shown.Content = string(file.Content)
			}
			report.Files = append(report.Files, shown)
		}
		if err := writeValue(w, f.format, report); err != nil {
			return err
		}
	} else {
		f.printText(w, result, n)
	}
	if n[importer.Refused] > 0 {
		return errFindings
	}
	return nil
}

// printText prints the report as text. With --dry-run, it also prints the files that are not Secrets. n is the
// number of verdicts of each class.
func (f *importFlags) printText(w io.Writer, result importer.Result, n map[importer.Class]int) {
	for _, v := range result.Verdicts {
		if v.Class != importer.Same || f.showSame {
			fmt.Fprintln(w, verdictText(v))
		}
	}
	written := count(len(result.Files), "file") + " written to " + f.out
	if f.dryRun {
		written = count(len(result.Files), "file") + " not written (--dry-run)"
	}
	if result.Blocked {
		written = "nothing is written: what is refused may protect anything. Accept it (--accept), or change the input"
	}
	same := ""
	if n[importer.Same] > 0 && !f.showSame {
		same = " (--show-same lists them)"
	}
	fmt.Fprintf(w, "%d refused, %d different, %d the same%s; %s\n",
		n[importer.Refused], n[importer.Different], n[importer.Same], same, written)
	if !f.dryRun {
		return
	}
	for _, file := range result.Files {
		if !file.Secret {
			fmt.Fprintf(w, "---\n# %s\n%s", file.Path, file.Content)
		}
	}
}

// verdictText returns a verdict (what import did with an object or its fields) in one line, with a second line
// for the hint. It lists at most maxFieldsShown fields, and the number of further fields.
func verdictText(v importer.Verdict) string {
	class := string(v.Class)
	if v.Protects {
		class += " (protects)"
	}
	line := class + ": " + oneLine(v.Object)
	if len(v.Fields) > 0 {
		fields := slices.Clone(v.Fields)
		for i := range fields {
			fields[i] = oneLine(fields[i])
		}
		if more := len(fields) - maxFieldsShown; more > 0 {
			fields = append(fields[:maxFieldsShown], fmt.Sprintf("and %d more", more))
		}
		line += " " + strings.Join(fields, ", ")
	}
	line += ": " + oneLine(v.Message)
	if v.File != "" {
		line = oneLine(v.File) + ":" + strconv.Itoa(v.Line) + ": " + line
	}
	if v.Hint != "" {
		line += "\n  help: " + oneLine(v.Hint)
	}
	return line
}

// maxFieldsShown is how many fields verdictText lists at most.
const maxFieldsShown = 6
