package store

import (
	"testing"

	"github.com/gatefold/gatefold/store/manifest"
)

// TestEncryptedTextsKeepTheirObjects has the file of a route encrypted as a whole: the route stays, and the file is an
// error, and a warning alone where it keeps nothing.
func TestEncryptedTextsKeepTheirObjects(t *testing.T) {
	for _, text := range []string{
		"$ANSIBLE_VAULT;1.1;AES256\n3162\n", "age-encryption.org/v1\n-> X25519 a\nb\n--- c\n\x00\x01", "\x00GITCRYPT\x00\x01",
		"apiVersion: ENC[AES256_GCM,data:a/b/c]\nkind: ENC[AES256_GCM,data:a]\nsops: {version: 3.9.0}\n",
	} {
		s := newStore(t, Options{})
		s.Apply(treeOf(map[string]string{"a.yaml": route("a", "/1")}))
		c := s.Apply(treeOf(map[string]string{"a.yaml": text}))
		if len(c.Gone) > 0 || len(c.Stale) != 1 || len(c.Problems) != 2 || c.Problems[1].Code != codeEncrypted || c.Problems[1].Severity != manifest.Error {
			t.Errorf("%q: %s, stale %v, %v", text, told(c), c.Stale, c.Problems)
		}
		c = s.Apply(treeOf(map[string]string{"a.yaml": text, "b.yaml": route("a", "/1")}))
		if len(c.Stale) > 0 || len(c.Problems) != 1 || c.Problems[0].Code != codeEncrypted || c.Problems[0].Severity != manifest.Warning {
			t.Errorf("%q, and the route elsewhere: %v", text, c.Problems)
		}
	}
}

// TestEncryptedValuesOfALiveSecret holds that a Secret that is encrypted in place keeps its last valid version.
func TestEncryptedValuesOfALiveSecret(t *testing.T) {
	s := newStore(t, Options{})
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: "
	s.Apply(treeOf(map[string]string{"a.yaml": head + "b}\n"}))
	c := s.Apply(treeOf(map[string]string{"a.yaml": head + "'ENC[AES256_GCM,data:x]'}\nsops: {version: 3.9.0}\n"}))
	if len(c.Set)+len(c.Gone) > 0 || len(c.Stale) != 1 || len(c.Problems) != 2 || c.Problems[1].Code != codeEncrypted {
		t.Errorf("%s, stale %v, %v", told(c), c.Stale, c.Problems)
	}
}
