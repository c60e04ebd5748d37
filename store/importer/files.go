package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/gatefold/gatefold/store/keypair"
	"github.com/gatefold/gatefold/store/manifest"
)

// cutName splits a text NAMESPACE/NAME. The result rest is the NAME.
func cutName(name string) (namespace, rest string) {
	namespace, rest, _ = strings.Cut(name, "/")
	return namespace, rest
}

// Manifests returns the files of all remaining objects, for validation. The files include Secrets, so they must
// not be written. Result returns the files to write.
func (o *Objects) Manifests() []File {
	var files []File
	for _, object := range o.objects.all {
		if !object.left {
			files = append(files, File{Path: pathOf(object), Content: marshal(object.fields), Secret: object.isCore("Secret")})
		}
	}
	return files
}

// maxFileName is the maximum length, in bytes, of the KIND-NAME in the name of a file. pathOf cuts a longer
// KIND-NAME and appends a hash. File systems allow 255 bytes, which leaves room for the hash and the extension.
const maxFileName = 180

// pathOf returns the path of the file for an object, NAMESPACE/KIND-NAME.yaml. For an object without a
// namespace, the folder is cluster-scoped. All names are DNS names (plainName), so that the path cannot leave
// the output folder.
func pathOf(object *item) string {
	folder := cmp.Or(object.key.Namespace, "cluster-scoped")
	name := strings.ToLower(object.key.Kind) + "-" + object.key.Name
	if len(name) > maxFileName {
		name = fmt.Sprintf("%s-%x", name[:maxFileName], sha256.Sum256([]byte(name)))
	}
	return folder + "/" + name + ".yaml"
}

// Result returns the files and the verdicts of the import. The parameter remaining has the problems that
// validate found after the last Settle; they become verdicts, too (see addRemaining). Result also gives some
// routes a rule that answers 500 to ambiguous paths (see closeSpellings). If the import is blocked, the result has
// no files.
func (o *Objects) Result(remaining []manifest.Problem) Result {
	for _, p := range remaining {
		addRemaining(o.report, o.objects, p)
	}
	for _, name := range o.accept.unused() {
		o.add(Different, place{}, name, "--accept names nothing that is there")
	}
	closeSpellings(o.report, o.objects)
	var files []File
	told := map[string]bool{}
	for _, v := range o.verdicts {
		told[v.Object] = told[v.Object] || v.Class != Same
	}
	for _, object := range o.objects.all {
		switch {
		case object.left:
		case object.isCore("Secret"):
			files = append(files, secretFiles(o.report, object, o.options.Secrets)...)
		default:
			files = append(files, File{Path: pathOf(object), Content: marshal(object.fields)})
			addSame(o.report, object, told[object.name()])
		}
	}
	if o.blocked {
		files = nil
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return Result{Verdicts: o.sorted(), Files: files, Blocked: o.blocked}
}

// addSame adds the verdict Same for an object that import writes to a file. The message says that the object is
// written as it is. If the parameter told is true, another verdict already reports a change of the object, and the
// message is about its other fields. If the object is not from the input, the message says that import added it.
func addSame(r *report, object *item, told bool) {
	message := "written as it is"
	if told {
		message = "all other fields are written as they are"
	}
	if object.place == (place{}) {
		message = "added"
	}
	r.add(Same, object.place, object.name(), message)
}

// addRemaining adds a verdict for a problem that validate found after the last Settle. It ignores the problem if the
// object is unknown. It also ignores the warning RuleClosed, because the rule has a verdict that says why it is closed.
func addRemaining(r *report, objects *collection, p manifest.Problem) {
	object := objects.find(p.Object)
	if object == nil || p.Code == "RuleClosed" {
		return
	}
	class, message := Different, p.Code+": "+p.Message
	if p.Severity == manifest.Error {
		class = Refused
		message += "; gatefold answers with an error until it is fixed"
	}
	r.add(class, object.place, object.name(), message, fieldOf(p.Field)...).Hint = p.Hint
}

// secretFiles returns the files of a Secret for the folder --secret-dir: NAMESPACE/NAME/KEY. If the Secret has
// a key that --secret-dir does not read, the whole Secret is also written as a manifest, secret.yaml. If
// allowed is false (Options.Secrets), the result is nil, and a verdict says that the Secret is not written.
func secretFiles(r *report, secret *item, allowed bool) []File {
	name, folder := secret.name(), secret.key.Namespace+"/"+secret.key.Name+"/"
	if !allowed {
		r.add(Refused, secret.place, name, "not written: a Secret needs a folder of its own").Hint = "name one with --secret-dir"
		return nil
	}
	var files []File
	others := false
	entries := map[string]string{}
	data, _ := secret.fields["data"].(map[string]any)
	for key, value := range data {
		if decoded, err := base64.StdEncoding.DecodeString(text(value)); err == nil {
			entries[key] = string(decoded)
		}
	}
	plain, _ := secret.fields["stringData"].(map[string]any)
	for key, value := range plain {
		entries[key] = text(value)
	}
	for key, value := range entries {
		switch key {
		case string(keypair.Certificate), string(keypair.Key), string(keypair.Authorities):
			files = append(files, File{Path: folder + key, Content: []byte(value), Secret: true})
		default:
			others = true
		}
	}
	if !others {
		r.add(Same, secret.place, name, fmt.Sprintf("written to the folder of Secrets, as %s", folder))
		return files
	}
	files = append(files, File{Path: folder + "secret.yaml", Content: marshal(secret.fields), Secret: true})
	r.add(Different, secret.place, name, "written to the folder of Secrets, as "+folder+"secret.yaml, from where gatefold does not read it; what needs it answers 500 until then").
		Hint = "copy secret.yaml into the folder that is served, where you keep Secrets"
	return files
}
