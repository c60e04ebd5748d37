package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/watcher"
)

// deadline is what a test waits for an answer: far longer than one takes on a busy machine.
const deadline = 2 * time.Minute

// client is an editor. Its framing is the library's, not the server's.
type client struct {
	testing.TB
	conn *jsonrpc2.Conn
	root string
	ends chan error // of Serve

	mu    sync.Mutex
	shown map[string]publishParams // by URI, the last
	news  chan struct{}
}

// connect starts a server and a client whose workspace is the folder with files.
func connect(t testing.TB, files map[string]string, initialize map[string]any) *client {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &client{TB: t, root: root, ends: make(chan error, 1), shown: map[string]publishParams{}, news: make(chan struct{}, 1000)}
	for name, text := range files {
		c.write(name, text)
	}
	near, far := net.Pipe()
	limits := watcher.DefaultLimits()
	limits.FileBytes = 4 << 20
	options := Options{Folder: func(root string) engine.Folder {
		return engine.Folder{Watch: watcher.Options{Root: root, Limits: limits, Ignore: watcher.Ignore{File: watcher.IgnoreRead}}}
	}}
	go func() { c.ends <- Serve(context.Background(), far, far, options) }()
	c.conn = jsonrpc2.NewConn(t.Context(), jsonrpc2.NewBufferedStream(near, jsonrpc2.VSCodeObjectCodec{}), c)
	t.Cleanup(func() {
		_ = c.conn.Close()
		c.Log("Serve ended:", <-c.ends)
	})
	if initialize == nil {
		initialize = map[string]any{"workspaceFolders": []any{map[string]any{"uri": c.uri(""), "name": "w"}}}
	}
	c.call("initialize", initialize, nil)
	c.notify("initialized", map[string]any{})
	return c
}

// Handle implements jsonrpc2.Handler.
func (c *client) Handle(_ context.Context, _ *jsonrpc2.Conn, request *jsonrpc2.Request) {
	switch request.Method {
	case "textDocument/publishDiagnostics":
		var p publishParams
		if err := json.Unmarshal(*request.Params, &p); err != nil {
			c.Error(err)
		}
		c.mu.Lock()
		c.shown[p.URI] = p
		c.mu.Unlock()
	case "window/showMessage":
		c.Errorf("%s", *request.Params)
	}
	c.news <- struct{}{}
}

func (c *client) uri(name string) string { return uriOf(filepath.Join(c.root, name)) }

// write puts a file in place by rename.
func (c *client) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.root, name)
	temporary := filepath.Join(filepath.Dir(path), ".new")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		c.Fatal(err)
	}
}

func (c *client) call(method string, params, result any) {
	c.Helper()
	if err := c.try(method, params, result); err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

func (c *client) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(c.Context(), deadline)
	defer cancel()
	return c.conn.Call(ctx, method, params, result)
}

func (c *client) notify(method string, params any) {
	c.Helper()
	if err := c.conn.Notify(c.Context(), method, params); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		c.Fatalf("%s: %v", method, err)
	}
}

func (c *client) openText(name, text string) {
	c.Helper()
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": c.uri(name), "languageId": "yaml", "version": 1, "text": text}})
}

// edit replaces a range of an open document; version is the one after it.
func (c *client) edit(name string, version int, at span, text string) {
	c.Helper()
	c.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": c.uri(name), "version": version},
		"contentChanges": []any{map[string]any{"range": at, "text": text}},
	})
}

// waitFor waits until the diagnostics of a file are as they should be.
func (c *client) waitFor(name, what string, good func(publishParams) bool) publishParams {
	c.Helper()
	end := time.After(deadline)
	for {
		c.mu.Lock()
		now, sent := c.shown[c.uri(name)]
		c.mu.Unlock()
		if sent && good(now) {
			return now
		}
		select {
		case <-c.news:
		case <-end:
			text, _ := json.MarshalIndent(now, "", " ")
			c.Fatalf("no %s of %s; last: %s", what, name, text)
		}
	}
}

// waitForCodes waits until a file has the problems of these codes.
func (c *client) waitForCodes(name string, codes ...string) publishParams {
	c.Helper()
	return c.waitFor(name, "codes", func(p publishParams) bool {
		if len(p.Diagnostics) != len(codes) {
			return false
		}
		for i, d := range p.Diagnostics {
			if d.Code != codes[i] {
				return false
			}
		}
		return true
	})
}
