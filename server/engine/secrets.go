package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/watcher"
)

// secretDir is a folder of Secrets without YAML (docs/design/inputs.md): a file NAMESPACE/NAME/KEY
// is an entry of a Secret's data. It has its own Store. So it keeps last valid versions and freezes
// if it is emptied, as the other folder does, but limits and path policies of the folder of YAML do
// not apply. Its Secrets win over those of the folder of YAML. A nil secretDir has none.
type secretDir struct {
	store *store.Store
	tree  watcher.Tree
	// own are the Secrets that it has, and folder those of the folder.
	own    map[manifest.Key]*manifest.Object
	folder map[manifest.Key]*manifest.Object

	applied  bool               // the store has taken tree
	sure     bool               // joined is what join would give again
	problems []manifest.Problem // its own
	stale    []store.Stale      // its own
	given    []manifest.Problem // those of the folder of YAML, and
	joined   []manifest.Problem // all that join gave
}

// isSecretKey reports whether a file has the name of a key of a Secret's data.
func isSecretKey(name string) bool {
	return name == string(keypair.Certificate) || name == string(keypair.Key) || name == string(keypair.Authorities)
}

// secretFile reports whether a file of a secret folder is read: an entry of a Secret, or a file
// that is probably meant as one, for which secretsOf reports a problem.
func secretFile(name string) bool {
	ending := path.Ext(name)
	base := strings.TrimSuffix(name, ending)
	numbered := strings.TrimRight(base, "0123456789") != base // certbot's archive: fullchain1.pem
	return isSecretKey(name) || !numbered && slices.Contains([]string{".pem", ".crt", ".cer", ".key"}, ending)
}

// watchSecrets returns the options to watch a secret folder.
func watchSecrets(dir string, limits watcher.Limits) watcher.Options {
	return watcher.Options{Root: dir, Limits: limits, Takes: secretFile}
}

// openSecrets reads a secret folder. It returns nil if dir is "".
func openSecrets(ctx context.Context, dir string, limits watcher.Limits) (*secretDir, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // a nil secretDir works
	}
	objects, err := store.New(store.Options{})
	if err != nil {
		return nil, err
	}
	tree, err := watcher.Read(ctx, watchSecrets(dir, limits))
	if err != nil {
		return nil, fmt.Errorf("--secret-dir: %w", err)
	}
	return &secretDir{
		store: objects, tree: tree, own: map[manifest.Key]*manifest.Object{}, folder: map[manifest.Key]*manifest.Object{},
	}, nil
}

// allowEmpty lets the next Tree remove every Secret.
func (d *secretDir) allowEmpty() {
	if d != nil {
		d.store.AllowEmpty()
		d.applied = false
	}
}

// take stores a Tree for the next join.
func (d *secretDir) take(tree watcher.Tree) { d.tree, d.applied = tree, false }

// apply returns the changes of the last Tree, none if it is already applied.
func (d *secretDir) apply() store.Change {
	if d.applied {
		return store.Change{}
	}
	change := d.store.Apply(secretsOf(d.tree))
	d.applied, d.problems, d.stale, d.sure = true, d.atFiles(change.Problems), change.Stale, false
	return change
}

// locate sets the places of problems of its Secrets.
func (d *secretDir) locate(problems []manifest.Problem) []manifest.Problem {
	if d == nil {
		return problems
	}
	return d.atFiles(d.store.Locate(problems))
}

// atFiles sets the place of problems of its Secrets to the file of the entry. A line and column of
// the generated document would not help the user.
func (d *secretDir) atFiles(problems []manifest.Problem) []manifest.Problem {
	out := slices.Clone(problems)
	for i := range out {
		p := &out[i]
		if p.File == "" || p.File != path.Join(d.tree.Root, p.Object.Namespace, p.Object.Name) {
			continue
		}
		p.Line, p.Column, p.Excerpt = 0, 0, ""
		key, ofEntry := strings.CutPrefix(strings.TrimSuffix(p.Field, "]"), "data[")
		if ofEntry && isSecretKey(key) {
			p.File = path.Join(p.File, key)
		}
	}
	return out
}

// join adds the Secrets of the folder's last Tree to a Change of the folder of YAML.
func (d *secretDir) join(change store.Change) store.Change {
	if d == nil {
		return change
	}
	secrets := d.apply()
	d.note(change)
	out := change
	out.Set, out.Gone = slices.DeleteFunc(slices.Clone(change.Set), d.hides), nil
	for _, key := range change.Gone {
		if d.own[key] == nil {
			out.Gone = append(out.Gone, key)
		}
	}
	for _, o := range secrets.Set {
		d.own[o.Key] = o
		out.Set = slices.DeleteFunc(out.Set, func(other *manifest.Object) bool { return other.Key == o.Key })
		out.Gone = slices.DeleteFunc(out.Gone, func(key manifest.Key) bool { return key == o.Key })
		out.Set = append(out.Set, o)
	}
	for _, key := range secrets.Gone {
		delete(d.own, key)
		if o := d.folder[key]; o != nil {
			out.Set = append(out.Set, o)
		} else {
			out.Gone = append(out.Gone, key)
		}
	}
	if !d.sure || !store.SameProblems(change.Problems, d.given) {
		d.given, d.sure = change.Problems, true
		d.joined = slices.Concat(change.Problems, d.problems, d.twice())
	}
	out.Problems, out.Stale = d.joined, d.staleOf(change)
	slices.SortFunc(out.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	slices.SortFunc(out.Gone, manifest.CompareKeys)
	return out
}

// staleOf joins the stale objects of both folders. If both have a Secret, the one of this folder
// counts.
func (d *secretDir) staleOf(change store.Change) []store.Stale {
	hidden := func(s store.Stale) bool { return d.own[s.Key] != nil }
	if len(d.stale) == 0 && !slices.ContainsFunc(change.Stale, hidden) {
		return change.Stale
	}
	all := append(slices.DeleteFunc(slices.Clone(change.Stale), hidden), d.stale...)
	slices.SortFunc(all, func(a, b store.Stale) int { return manifest.CompareKeys(a.Key, b.Key) })
	return all
}

// overlay replaces Secrets of the folder of YAML by the Secrets of this folder.
func (d *secretDir) overlay(all store.Change) store.Change {
	if d == nil {
		return all
	}
	all.Set = slices.AppendSeq(slices.DeleteFunc(all.Set, d.hides), maps.Values(d.own))
	slices.SortFunc(all.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	return all
}

// note tracks the Secrets of the folder of YAML.
func (d *secretDir) note(change store.Change) {
	for _, o := range change.Set {
		if o.Key.Kind == "Secret" {
			d.folder[o.Key] = o
			d.sure = false // it may stand in both
		}
	}
	for _, key := range change.Gone {
		if d.folder[key] != nil {
			delete(d.folder, key)
			d.sure = false
		}
	}
}

// hides reports whether a Secret of this folder replaces an object of the folder of YAML.
func (d *secretDir) hides(o *manifest.Object) bool { return d.own[o.Key] != nil }

// twice warns of Secrets that both folders have.
func (d *secretDir) twice() []manifest.Problem {
	var problems []manifest.Problem
	for _, key := range slices.SortedFunc(maps.Keys(d.own), manifest.CompareKeys) {
		if d.folder[key] != nil {
			problems = append(problems, manifest.Problem{
				Code: "DuplicateObject", Severity: manifest.Warning, Object: key,
				Message: "--secret-dir has " + key.String() + " too, and that one serves",
				Hint:    "remove one of the two",
			})
		}
	}
	return problems
}

// secretsOf returns a Tree with a document for each Secret of a secret folder. The document is
// named after the Secret's folder. If a file of a Secret cannot be read, the Secret keeps its last
// version.
func secretsOf(tree watcher.Tree) watcher.Tree {
	data, skipped := map[string]map[string][]byte{}, map[string]watcher.Skip{}
	others := map[string][]string{} // files of other names, by folder
	for _, skip := range tree.Skipped {
		skip.Path = path.Join(tree.Root, path.Dir(skip.Path))
		skipped[skip.Path] = skip
	}
	for file := range tree.Files.All() {
		dir, name := path.Join(tree.Root, path.Dir(file.Path)), path.Base(file.Path)
		inPlace := strings.Count(file.Path, "/") == 2
		switch {
		case inPlace && !isSecretKey(name):
			others[dir] = append(others[dir], name)
		case inPlace:
			if data[dir] == nil {
				data[dir] = map[string][]byte{}
			}
			data[dir][name] = file.Content
		case isSecretKey(name):
			skipped[dir] = watcher.Skip{Path: dir, Reason: notASecret, Detail: "the file of a Secret stands at NAMESPACE/NAME/" + name}
		}
	}
	for dir, names := range others {
		if _, known := skipped[dir]; !known && data[dir] == nil {
			skipped[dir] = misnamed(dir, names)
		}
	}
	tree.Files, tree.Skipped = watcher.Files{}, nil
	for _, dir := range slices.Sorted(maps.Keys(skipped)) {
		delete(data, dir)
		tree.Skipped = append(tree.Skipped, skipped[dir])
	}
	var files []watcher.File
	for dir, entries := range data {
		files = append(files, secretDocument(dir, entries))
	}
	tree.Files = watcher.FilesOf(files...)
	return tree
}

// notASecret is the code of a folder of --secret-dir that gives no Secret.
const notASecret = "NotASecret"

// misnamed reports a folder that has only files with other names, such as those of certbot.
func misnamed(dir string, names []string) watcher.Skip {
	slices.Sort(names)
	return watcher.Skip{Path: dir, Reason: notASecret, Detail: fmt.Sprintf(
		"the folder has %s, but no tls.crt and no tls.key, so there is no Secret %s/%s: name the certificate with its chain tls.crt, and its private key tls.key",
		strings.Join(names[:min(len(names), maxNamed)], ", "), path.Base(path.Dir(dir)), path.Base(dir))}
}

// maxNamed is how many files a message names.
const maxNamed = 5

// secretDocument writes a Secret as a document of its own.
func secretDocument(dir string, data map[string][]byte) watcher.File {
	parent, name := path.Split(dir)
	secret := corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: path.Base(parent), Name: name},
		Type:       corev1.SecretTypeOpaque, Data: data,
	}
	if data[corev1.TLSCertKey] != nil || data[corev1.TLSPrivateKeyKey] != nil {
		secret.Type = corev1.SecretTypeTLS
	}
	content := mustJSON(secret)
	return watcher.File{Path: dir, Content: content, Hash: sha256.Sum256(content)}
}

func mustJSON(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // only strings and bytes are given
	}
	return content
}
