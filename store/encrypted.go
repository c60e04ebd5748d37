package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/store/schema"
)

// codeEncrypted is the code of problems about documents that another program must decrypt. A document has one such
// problem, and no other: what is wrong with an encrypted value does not matter.
const codeEncrypted = "Encrypted"

// vaultStart is the beginning of a text of Ansible Vault, a file or one value.
const vaultStart = "$ANSIBLE_VAULT;"

// cipher is a program that encrypts files or values.
type cipher struct {
	start   string // how an encrypted text begins
	program string
	command string // decrypts a file
}

// ciphers returns the programs whose texts gatefold recognizes. The first one encrypts values of an object, and its
// field sops says so.
func ciphers() []cipher {
	return []cipher{
		{"ENC[AES256_GCM,", "SOPS", "sops --decrypt"},
		{vaultStart, "Ansible Vault", "ansible-vault decrypt"},
		{"-----BEGIN AGE ENCRYPTED FILE-----", "age", "age --decrypt"},
		{"age-encryption.org/v1", "age", "age --decrypt"},
		{"-----BEGIN PGP MESSAGE-----", "OpenPGP", "gpg --decrypt"},
		{"\x00GITCRYPT\x00", "git-crypt", "git-crypt unlock"},
	}
}

// cipherOf returns the program that encrypted a text, nil if the text is not encrypted.
func cipherOf(text string) *cipher {
	all := ciphers()
	if i := slices.IndexFunc(all, func(c cipher) bool { return strings.HasPrefix(text, c.start) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// cipherOfText returns the program that encrypted the text of a document or file, nil if the text is not encrypted. A
// text with a readable kind of gatefold's is not: it may be a policy, and its targets must not be open.
func cipherOfText(text []byte) *cipher {
	c := cipherOf(string(bytes.TrimLeft(text[:min(len(text), 64)], " \r\n")))
	if c != nil && !isForeignText(text) {
		return nil
	}
	return c
}

// finding returns the problem of what c encrypted, a document or an object.
func (c *cipher) finding(what string) finding {
	return finding{Problem: manifest.Problem{
		Code: codeEncrypted, Line: 1, Column: 1,
		Message: fmt.Sprintf("the %s is encrypted with %s, and gatefold does not decrypt: it is not used", what, c.program),
		Hint:    fmt.Sprintf("let the program that fills the folder decrypt it first (%s); certificates and keys may lie in --secret-dir instead", c.command),
	}}
}

// encryptedText returns the program that encrypted the document as a whole: its text, or its kind. The parameter object
// is the document's value, nil before the text is parsed. The result is nil for other documents, such as a policy with a
// readable kind or with readable targets: what it protects must not be open.
func (d *documentReader) encryptedText(object map[string]any) *cipher {
	if object == nil {
		return cipherOfText(d.text)
	}
	if _, sops := object["sops"].(map[string]any); !sops || wordOfKind(object) != "" || len(d.meantAs(object)) > 0 {
		return nil
	}
	if data := cipherOf(textOf(object["data"])); data != nil && len(object) == 2 { // a file that is no YAML
		return data
	}
	return cipherOf(textOf(object["kind"]))
}

// encrypted records a document that c encrypted as a whole. Nobody knows what is in it, so it counts as a document of
// another program, with a warning (fileProblems). If an object is kept because of it, that is an error.
func (d *documentReader) encrypted(c *cipher) {
	d.foreign = append(d.foreign, foreign{place: place{line: 1, column: 1}})
	d.doubt = []finding{c.finding("document")}
}

// sealedValues returns the findings about an object of a known kind. If values of the object are encrypted, the result
// is one finding that says so. The parameter at is the object's path in the document.
func (d *documentReader) sealedValues(at fieldPath, findings []schema.Finding) []schema.Finding {
	c, field := d.cipherOfValues(at, findings)
	if c == nil {
		return findings
	}
	p := c.finding("object").Problem
	return []schema.Finding{{Code: p.Code, Field: field, Message: p.Message, Hint: p.Hint}}
}

// cipherOfValues returns the program that encrypted values of an object, and the field that shows it. The result is nil
// if no value is encrypted.
func (d *documentReader) cipherOfValues(at fieldPath, findings []schema.Finding) (c *cipher, field string) {
	const mark = "sops"
	for _, holder := range []fieldPath{nil, at} {
		if _, value := descend(d.root, slices.Concat(holder, parsePath(mark))); value != nil && value.Kind == yaml.MappingNode {
			return &ciphers()[0], mark
		}
	}
	for _, f := range findings {
		if _, value := descend(d.root, slices.Concat(at, parsePath(f.Field))); value != nil && value.Kind == yaml.ScalarNode {
			if c = cipherOf(value.Value); c != nil {
				return c, f.Field
			}
		}
	}
	if _, value := descend(d.root, at); d.vault {
		return cipherIn(value), ""
	}
	return nil, ""
}

// cipherIn returns the program that encrypted a text in the value at a node, nil if there is none. The parameter n may be
// nil: an object from a YAML merge (<<) has no node at its path.
func cipherIn(n *yaml.Node) *cipher {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return cipherOf(n.Value)
	}
	for _, inner := range n.Content {
		if c := cipherIn(inner); c != nil {
			return c
		}
	}
	return nil
}
