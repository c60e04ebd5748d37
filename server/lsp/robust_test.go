package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/watcher"
)

// TestMalformedMessages: what is no message is answered with an error, and the session goes on.
func TestMalformedMessages(t *testing.T) {
	near, far := net.Pipe()
	ends := make(chan error, 1)
	go func() {
		ends <- Serve(context.Background(), far, far, Options{Folder: func(string) engine.Folder { return engine.Folder{} }})
	}()
	answers := bufio.NewReader(near)
	ask := func(message string) string {
		t.Helper()
		go func() {
			_, _ = fmt.Fprintf(near, "Content-Length: %d\r\nContent-Type: x\r\n\r\n%s", len(message), message)
		}()
		var length int
		if _, err := fmt.Fscanf(answers, "Content-Length: %d\r\n\r\n", &length); err != nil {
			t.Fatalf("%s: %v", message, err)
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(answers, body); err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, one := range [][2]string{
		{`{`, "-32700"}, {`[]`, "-32600"}, {`{}`, "-32600"}, {`"x"`, "-32600"}, {`{"jsonrpc":"2.0","id":{},"method":"x"}`, "-32600"},
		{`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}`, "-32002"},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":[]}`, "-32602"},
		{`{"jsonrpc":"2.0","id":3,"method":"initialize"}`, "utf-16"},
		{`{"jsonrpc":"2.0","id":4,"method":"initialize"}`, "-32600"},
		{`{"jsonrpc":"2.0","id":5,"method":"no/such"}`, "-32601"},
		{`{"jsonrpc":"2.0","id":6,"method":"textDocument/hover","params":{"position":{"line":-5,"character":1e99}}}`, "-32602"},
		{`{"jsonrpc":"2.0","id":7,"method":"textDocument/hover","params":{"textDocument":{"uri":"%zz"}}}`, `"result":null`},
		{`{"jsonrpc":"2.0","id":8,"method":"textDocument/codeAction"}`, `"result":[]`},
		{`{"jsonrpc":"2.0","id":9,"method":"shutdown"}`, `"result":null`},
		{`{"jsonrpc":"2.0","id":10,"method":"textDocument/hover"}`, "-32600"},
	} {
		if got := ask(one[0]); !strings.Contains(got, one[1]) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s", one[0], got)
		}
	}
	_, _ = fmt.Fprint(near, "content-length:33\n\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}")
	if err := <-ends; err != nil {
		t.Error(err)
	}
}

// TestStrangeEdits: edits outside of a text, of texts that are not open and with ranges turned around
// leave a server that answers.
func TestStrangeEdits(t *testing.T) {
	c := connect(t, shopFolder(), nil)
	c.openText("backend.yaml", backendText)
	for version, at := range []span{
		{position{-1, -1}, position{0, 0}}, {position{9999, 9999}, position{9999, 0}}, {position{3, 5}, position{1, 0}}, {position{0, 1 << 40}, position{0, 1 << 50}},
	} {
		c.edit("backend.yaml", version+2, at, "é\r\n\r𝄞")
		c.edit("closed.yaml", version+2, at, "x")
	}
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri("backend.yaml"), "version": 9},
		"contentChanges": []any{map[string]any{"text": strings.Replace(backendText, "type:", "tipe:", 1)}},
	})
	c.waitFor("backend.yaml", "UnknownField", func(p publishParams) bool {
		return len(p.Diagnostics) == 1 && *p.Version == 9 && p.Diagnostics[0].Code == "UnknownField"
	})
}

// TestPositions counts in UTF-16 and UTF-8, with all ends of lines.
func TestPositions(t *testing.T) {
	content := "a: é𝄞x\r\nb\rc\nd"
	for units, at := range map[encoding]position{utf16Units: {0, 6}, utf8Units: {0, 9}} {
		in := newText([]byte(content), units)
		x := strings.Index(content, "x")
		if got := in.position(x); got != at || in.offset(at) != x {
			t.Errorf("%s: %v, %d", units, got, in.offset(at))
		}
		if got := in.offset(position{0, 100}); got != strings.Index(content, "\r\n") {
			t.Errorf("%s: the end of the line is %d", units, got)
		}
		if got := in.position(len(content)); got != (position{3, 1}) {
			t.Errorf("%s: %v", units, got)
		}
		// gatefold's third line begins behind the second LF.
		if got := in.place(3, 1); got != strings.Index(content, "d") {
			t.Errorf("%s: %d", units, got)
		}
	}
	for line, want := range map[string]string{
		"name: x": "name", `"na\"me": x`: `"na\"me"`, "'it''s' # c": "'it''s'", "a b # c": "a b", "x, y": "x", "http://x:80/ ": "http://x:80/", "]": "]",
	} {
		in := newText([]byte(line), utf16Units)
		if got := line[:in.token(0)]; got != want {
			t.Errorf("%q: token %q", line, got)
		}
	}
}

// TestUTF8 is a client that counts bytes.
func TestUTF8(t *testing.T) {
	c := connect(t, nil, nil)
	if err := c.try("initialize", map[string]any{}, nil); err == nil {
		t.Error("initialize twice")
	}
	root := t.TempDir()
	c = connect(t, nil, map[string]any{"rootUri": uriOf(root), "capabilities": map[string]any{"general": map[string]any{"positionEncodings": []string{"utf-32", "utf-8"}}}})
	c.root = root
	c.openText("a.yaml", strings.Replace(backendText, "{type:", `{"é": 1, type:`, 1))
	p := c.waitForCodes("a.yaml", "UnknownField")
	if p.Diagnostics[0].Range != (span{position{3, 7}, position{3, 11}}) {
		t.Errorf("%+v", p.Diagnostics[0].Range)
	}
}

// TestOutside: documents outside of the folder, hidden ones and those that the ignore file leaves out
// are not validated, links out of the folder are not followed, and a document in it that is not on disk is.
func TestOutside(t *testing.T) {
	files := shopFolder()
	files[watcher.IgnoreFile] = "drafts/\n"
	c := connect(t, files, nil)
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(secret, []byte(strings.Replace(backendText, "name: shop", "name: outside", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(c.root, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	broken := "kind: HTTPRoute"
	for _, name := range []string{"../elsewhere.yaml", ".hidden.yaml", "drafts/a.yaml", "notes.txt"} {
		c.openText(name, broken)
	}
	c.openText("new/a.yaml", broken)
	c.waitFor("new/a.yaml", "problem", func(p publishParams) bool { return len(p.Diagnostics) > 0 })
	c.waitForCodes("link.yaml", "LinkLeavesRoot")
	params, _ := c.at("names.yaml", routeHead+"spec:\n  rules:\n  - backendRefs: [{group: gateway.kgateway.dev, kind: Backend, name: outsi|de}]\n")
	var to *location
	if c.call("textDocument/definition", params, &to); to != nil {
		t.Errorf("%+v", to)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for uri := range c.shown {
		if uri != c.uri("new/a.yaml") && uri != c.uri("link.yaml") && uri != c.uri("names.yaml") {
			t.Errorf("%s: %+v", uri, c.shown[uri])
		}
	}
}

// TestTooLarge: a document that is larger than validate reads is said to be, and its text does not count.
func TestTooLarge(t *testing.T) {
	c := connect(t, shopFolder(), nil)
	c.openText("backend.yaml", backendText+strings.Repeat("# long\n", 600_000))
	c.waitForCodes("backend.yaml", "FileTooLarge")
	c.waitForCodes("routes/shop.yaml", "BackendNotFound")
	c.openText("backend.yaml", backendText)
	c.waitForCodes("backend.yaml")
	c.waitForCodes("routes/shop.yaml")
}

// TestFoldersComeAndGo: the diagnostics of a folder that leaves the workspace are cleared.
func TestFoldersComeAndGo(t *testing.T) {
	files := shopFolder()
	files["broken.yaml"] = strings.Replace(backendText, "type:", "tipe:", 1)
	c := connect(t, files, map[string]any{})
	change := func(key string) {
		event := map[string]any{"added": []any{}, "removed": []any{}}
		event[key] = []any{map[string]any{"uri": c.uri(""), "name": "w"}}
		c.notify("workspace/didChangeWorkspaceFolders", map[string]any{"event": event})
	}
	change("added")
	c.waitFor("broken.yaml", "problem", func(p publishParams) bool { return len(p.Diagnostics) > 0 })
	change("removed")
	c.waitForCodes("broken.yaml")
}
