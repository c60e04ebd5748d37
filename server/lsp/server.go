// Package lsp is a language server: what validate says of a folder and what the JSON Schema says of
// fields, in editors. The folder is read as validate reads it, with the texts of open documents in
// the place of what is on disk. Nothing outside of the folder is read, and nothing is written.
package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/gatefold/gatefold/server/engine"
)

// Options configure a server.
type Options struct {
	// Folder returns how a folder is read.
	Folder func(root string) engine.Folder
	// Within is the path of the folder in each folder of the workspace; "" for all of it.
	Within string
	// Version is that of the program.
	Version string
}

// ErrNoShutdown is the end of a client that said exit without shutdown, or nothing at all.
var ErrNoShutdown = errors.New("the editor ended without a shutdown")

// Serve answers a client until it says exit or its stream ends, or ctx ends. It closes in.
func Serve(ctx context.Context, in io.ReadCloser, out io.Writer, options Options) error {
	session, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{options: options, documents: newDocuments(), ctx: session, projects: map[string]*project{}, catalog: newCatalog()}
	s.ready.Add(1)
	s.conn = jsonrpc2.NewConn(session, newStream(in, out), s, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	s.ready.Done()
	<-s.conn.DisconnectNotify()
	cancel()
	s.endAll()
	if s.state != stopping && ctx.Err() == nil {
		return ErrNoShutdown
	}
	return nil
}

// state is the step of the protocol that a client has reached.
type state string

const (
	fresh    state = "" // it has not said initialize
	running  state = "running"
	stopping state = "stopping" // it said shutdown
)

// server is one connection. Its messages are handled one after the other, so that each request sees
// the edits before it.
type server struct {
	options   Options
	documents *documents
	ctx       context.Context
	ready     sync.WaitGroup // conn is set
	conn      *jsonrpc2.Conn
	state     state
	projects  map[string]*project // by root
	catalog   *catalog
}

// handler answers a request, or takes a notification.
type handler func(params json.RawMessage) (any, error)

// handlers returns the methods that are served.
func (s *server) handlers() map[string]handler {
	return map[string]handler{
		"initialize":                          with(s.initialize),
		"initialized":                         ignore,
		"shutdown":                            s.shutdown,
		"exit":                                s.exit,
		"textDocument/didOpen":                with(s.didOpen),
		"textDocument/didChange":              with(s.didChange),
		"textDocument/didClose":               with(s.didClose),
		"textDocument/didSave":                ignore,
		"textDocument/hover":                  with(s.hover),
		"textDocument/completion":             with(s.completion),
		"textDocument/definition":             with(s.definition),
		"textDocument/codeAction":             with(s.actions),
		"workspace/didChangeWorkspaceFolders": with(s.didChangeFolders),
	}
}

// with decodes the parameters of a handler.
func with[P any](handle func(P) (any, error)) handler {
	return func(params json.RawMessage) (any, error) {
		var p P
		if len(params) > 0 {
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
			}
		}
		return handle(p)
	}
}

func ignore(json.RawMessage) (any, error) { return nil, nil } //nolint:nilnil // no result, and none is wanted

// Handle implements jsonrpc2.Handler.
func (s *server) Handle(ctx context.Context, conn *jsonrpc2.Conn, request *jsonrpc2.Request) {
	s.ready.Wait()
	result, err := s.answer(request)
	if request.Notif {
		return
	}
	if err == nil {
		if err = conn.Reply(ctx, request.ID, result); err == nil {
			return
		}
	}
	var known *jsonrpc2.Error
	if !errors.As(err, &known) {
		known = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()}
	}
	_ = conn.ReplyWithError(ctx, request.ID, known) // a client that is gone gets no answer
}

// The errors of LSP itself.
const (
	codeNotInitialized = -32002
	codeInvalidRequest = jsonrpc2.CodeInvalidRequest
)

// answer handles a message. A mistake of gatefold costs this message.
func (s *server) answer(request *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if mistake := recover(); mistake != nil {
			result, err = nil, mistakeError(mistake)
			s.failed(err)
		}
	}()
	switch {
	case s.state == fresh && request.Method != "initialize" && request.Method != "exit":
		return nil, &jsonrpc2.Error{Code: codeNotInitialized, Message: "the first request must be initialize"}
	case s.state != fresh && request.Method == "initialize", s.state == stopping && request.Method != "exit":
		return nil, &jsonrpc2.Error{Code: codeInvalidRequest, Message: request.Method + " is not expected here"}
	}
	handle := s.handlers()[request.Method]
	if handle == nil {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "gatefold does not serve " + request.Method}
	}
	var params json.RawMessage
	if request.Params != nil {
		params = *request.Params
	}
	return handle(params)
}

func mistakeError(mistake any) error { return fmt.Errorf("a mistake in gatefold: %v", mistake) }

func (s *server) initialize(p initializeParams) (any, error) {
	s.state = running
	if slices.Contains(p.Capabilities.General.PositionEncodings, string(utf8Units)) {
		s.documents.units = utf8Units
	}
	folders := p.WorkspaceFolders
	if len(folders) == 0 && p.RootURI != "" {
		folders = []workspaceFolder{{URI: p.RootURI}}
	}
	if len(folders) == 0 && p.RootPath != "" {
		folders = []workspaceFolder{{URI: uriOf(p.RootPath)}}
	}
	for _, folder := range folders {
		s.begin(folder)
	}
	return initializeResult{
		Capabilities: serverCapabilities{
			PositionEncoding: string(s.documents.units),
			TextDocumentSync: textSync{OpenClose: true, Change: incrementalSync, Save: true},
			HoverProvider:    true, DefinitionProvider: true,
			CompletionProvider: completionOptions{TriggerCharacters: []string{" ", ":", "-", "{", "["}},
			CodeActionProvider: codeActionOptions{CodeActionKinds: []string{"quickfix"}},
			Workspace:          json.RawMessage(`{"workspaceFolders":{"supported":true,"changeNotifications":true}}`),
		},
		ServerInfo: serverInfo{Name: "gatefold", Version: s.options.Version},
	}, nil
}

// begin follows a folder of the workspace.
func (s *server) begin(folder workspaceFolder) {
	path := pathOf(folder.URI)
	if path == "" {
		return
	}
	root := filepath.Join(path, s.options.Within)
	if s.projects[root] == nil {
		s.projects[root] = newProject(s.ctx, root, s)
	}
}

func (s *server) didChangeFolders(p foldersParams) (any, error) {
	for _, folder := range p.Event.Removed {
		root := filepath.Join(pathOf(folder.URI), s.options.Within)
		if project := s.projects[root]; project != nil {
			project.end()
			delete(s.projects, root)
		}
	}
	for _, folder := range p.Event.Added {
		s.begin(folder)
	}
	return nil, nil //nolint:nilnil // a notification has no result
}

func (s *server) endAll() {
	for _, project := range s.projects {
		project.ended()
		project.over.Wait()
	}
}

func (s *server) shutdown(json.RawMessage) (any, error) {
	s.state = stopping
	return nil, nil //nolint:nilnil // its result is null
}

func (s *server) exit(json.RawMessage) (any, error) { return nil, s.conn.Close() }

func (s *server) didOpen(p documentParams) (any, error) {
	s.documents.set(p.TextDocument.URI, p.TextDocument.Version, []byte(p.TextDocument.Text))
	s.touch(p.TextDocument.URI)
	return nil, nil //nolint:nilnil // a notification has no result
}

func (s *server) didChange(p changeParams) (any, error) {
	s.documents.change(p)
	s.touch(p.TextDocument.URI)
	return nil, nil //nolint:nilnil // a notification has no result
}

func (s *server) didClose(p documentParams) (any, error) {
	s.documents.close(p.TextDocument.URI)
	s.touch(p.TextDocument.URI)
	return nil, nil //nolint:nilnil // a notification has no result
}

// touch has the folders of a document validated again.
func (s *server) touch(uri string) {
	path := pathOf(uri)
	for _, project := range s.projects {
		if _, ok := project.name(path); ok && path != "" {
			project.touch()
		}
	}
}

// publish sends diagnostics; a client that is gone gets none.
func (s *server) publish(p publishParams) {
	s.ready.Wait()
	_ = s.conn.Notify(s.ctx, "textDocument/publishDiagnostics", p)
}

// failed has the editor show why something could not be done.
func (s *server) failed(err error) {
	s.ready.Wait()
	_ = s.conn.Notify(s.ctx, "window/showMessage", messageParams{Type: messageError, Message: "gatefold: " + err.Error()})
}
