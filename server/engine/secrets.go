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

// secretDir is a folder of Secrets without YAML (docs/design/inputs.md): a file NAMESPACE/NAME/KEY is an entry
// of a Secret's data. The folder has its own Store. So last valid versions of its Secrets are kept, and the folder
// is frozen if it becomes empty. The limits of files (watcher.Limits) apply to this folder, too. The limits of
// objects (store.Limits) and the path policies of the folder of YAML do not. If both folders have a Secret of the
// same name, the Secret of this folder is served. A nil secretDir has no Secrets.
type secretDir struct {
	store *store.Store
	tree  watcher.Tree
	// own has the Secrets of this folder. folder has the Secrets of the folder of YAML.
	own    map[manifest.Key]*manifest.Object
	folder map[manifest.Key]*manifest.Object

	applied bool // the store has applied the field tree
	// sure is false if this folder, or a Secret in the folder of YAML, may have changed since the last call of join.
	// The method join then computes the field joined again.
	sure     bool
	problems []manifest.Problem // of this folder
	stale    []store.Stale      // of this folder
	given    []manifest.Problem // the problems of the folder of YAML from which joined was computed
	joined   []manifest.Problem // the problems of both folders, as the method join returned them last
}

// isSecretKey reports whether a file is named tls.crt, tls.key or ca.crt: the keys that gatefold reads from a
// Secret's data.
func isSecretKey(name string) bool {
	return name == string(keypair.Certificate) || name == string(keypair.Key) || name == string(keypair.Authorities)
}

// secretFile reports whether a file of a secret folder is read, by the file's name. A file is read if it is an
// entry of a Secret (see isSecretKey), or if its ending is that of a certificate or key, so that it may be a
// misnamed entry. If the folder of a Secret has only misnamed entries, secretsOf adds a Skip, which becomes a
// problem.
func secretFile(name string) bool {
	ending := path.Ext(name)
	base := strings.TrimSuffix(name, ending)
	numbered := strings.TrimRight(base, "0123456789") != base // certbot's archive has such names: fullchain1.pem
	return isSecretKey(name) || !numbered && slices.Contains([]string{".pem", ".crt", ".cer", ".key"}, ending)
}

// watchSecrets returns the options to watch a secret folder.
func watchSecrets(dir string, limits watcher.Limits) watcher.Options {
	return watcher.Options{Root: dir, Limits: limits, Takes: secretFile, EveryPath: true}
}

// openSecrets reads a secret folder. It returns nil if dir is "", and an error if the folder cannot be read.
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

// allowEmpty lets the next Tree remove every Secret. Without it, a folder that becomes empty is frozen.
func (d *secretDir) allowEmpty() {
	if d != nil {
		d.store.AllowEmpty()
		d.applied = false
	}
}

// take stores a Tree of this folder. The next call of join applies it.
func (d *secretDir) take(tree watcher.Tree) { d.tree, d.applied = tree, false }

// apply applies the last Tree and returns its Change. The Change is empty if the Tree is already applied.
func (d *secretDir) apply() store.Change {
	if d.applied {
		return store.Change{}
	}
	change := d.store.Apply(secretsOf(d.tree))
	d.applied, d.problems, d.stale, d.sure = true, d.atFiles(change.Problems), change.Stale, false
	return change
}

// locate returns a copy of the problems with their places set. For a problem of a Secret of this folder, the place
// is the file with the faulty entry of the Secret's data. If the problem is not about one entry, the place is the
// Secret's folder (see atFiles).
func (d *secretDir) locate(problems []manifest.Problem) []manifest.Problem {
	if d == nil {
		return problems
	}
	return d.atFiles(d.store.Locate(problems))
}

// atFiles returns a copy of the problems. In the copy, a problem about a Secret of this folder has a place that users
// know: if the problem is about one entry of the Secret, its File is the file of this entry. Otherwise its File stays
// the folder of the Secret. Line, column and excerpt are removed, because they belong to a generated document.
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

// join merges two changes to one for the translator: that of the folder of YAML (the parameter change), and that of
// the last Tree of this folder of Secrets. If both folders have the same Secret, the result has only the Secret of
// this folder.
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

// staleOf returns the stale objects of both folders. If both folders have a Secret of the same name, the Secret
// of the folder of YAML is left out.
func (d *secretDir) staleOf(change store.Change) []store.Stale {
	hidden := func(s store.Stale) bool { return d.own[s.Key] != nil }
	if len(d.stale) == 0 && !slices.ContainsFunc(change.Stale, hidden) {
		return change.Stale
	}
	all := append(slices.DeleteFunc(slices.Clone(change.Stale), hidden), d.stale...)
	slices.SortFunc(all, func(a, b store.Stale) int { return manifest.CompareKeys(a.Key, b.Key) })
	return all
}

// overlay adds the Secrets of this folder to a Change (the parameter all) that has all objects of the folder of
// YAML, and returns the Change. A Secret of this folder replaces a Secret of the folder of YAML with the same
// key. The list all.Set may be changed in place.
func (d *secretDir) overlay(all store.Change) store.Change {
	if d == nil {
		return all
	}
	all.Set = slices.AppendSeq(slices.DeleteFunc(all.Set, d.hides), maps.Values(d.own))
	slices.SortFunc(all.Set, func(a, b *manifest.Object) int { return manifest.CompareKeys(a.Key, b.Key) })
	return all
}

// note updates d.folder, the Secrets of the folder of YAML, by a Change of that folder: it adds new Secrets, and
// removes those that are gone.
func (d *secretDir) note(change store.Change) {
	for _, o := range change.Set {
		if o.Key.Kind == "Secret" {
			d.folder[o.Key] = o
			d.sure = false // both folders may have it
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

// twice returns a warning for each Secret that both folders have.
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

// secretsOf converts the files of a secret folder to a Tree that the store can apply: one generated document for
// each Secret, with the path of the Secret's folder. The result has these folders in Tree.Skipped:
//   - the folder of a Secret of which a file cannot be read, so that the store keeps the last version of the Secret
//   - a folder that is in the wrong place and has a file of a Secret (see isSecretKey)
//   - a folder that is in the right place and has only other files
func secretsOf(tree watcher.Tree) watcher.Tree {
	data, skipped := map[string]map[string][]byte{}, map[string]watcher.Skip{}
	others := map[string][]string{} // names of files that are not keys of a Secret, by folder
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

// notASecret is the code of the problem of a folder in --secret-dir that is not a Secret.
const notASecret = "NotASecret"

// misnamed returns the watcher.Skip that reports a folder without any file of a Secret (isSecretKey), but with
// other files, such as those of certbot. Its text has the names of the first maxNamed files.
func misnamed(dir string, names []string) watcher.Skip {
	slices.Sort(names)
	return watcher.Skip{Path: dir, Reason: notASecret, Detail: fmt.Sprintf(
		"the folder has %s, but no tls.crt and no tls.key, so there is no Secret %s/%s: name the certificate with its chain tls.crt, and its private key tls.key",
		strings.Join(names[:min(len(names), maxNamed)], ", "), path.Base(path.Dir(dir)), path.Base(dir))}
}

// maxNamed is the maximum number of file names in the text of the problem that the function misnamed returns.
const maxNamed = 5

// secretDocument returns a Secret as a document. The parameter dir is the path of its folder, NAMESPACE/NAME at the
// end, and data has its entries.
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

// mustJSON encodes a value that cannot fail to encode.
func mustJSON(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // values have only strings and bytes, so this cannot happen
	}
	return content
}
