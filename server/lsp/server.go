// Package lsp is a language server. It shows the problems that validate finds, and the descriptions of fields,
// in editors. It reads a folder like the command validate, but open documents replace files on disk. It reads
// nothing outside of the folder, and writes nothing.
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
	// Folder returns how a folder is read. root is the path of the folder.
	Folder func(root string) engine.Folder
	// Within is the path of gatefold's folder in each folder of the workspace. If Within is "", gatefold's folder
	// is the folder of the workspace itself.
	Within string
	// Version is the version of gatefold.
	Version string
}

// ErrNoShutdown means that the client ended without the request shutdown.
var ErrNoShutdown = errors.New("the editor ended without a shutdown")

// Serve answers the requests of one client until the client sends exit, its stream ends, or ctx ends. It closes
// the input. It returns nil after shutdown or if ctx ended, and otherwise ErrNoShutdown.
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

// state says how far the client has come in the protocol: before initialize, running, or after shutdown.
type state string

const (
	fresh    state = "" // before initialize
	running  state = "running"
	stopping state = "stopping" // after shutdown
)

// server is the server for one client. It handles messages one after the other. So each request sees all
// earlier edits.
type server struct {
	options   Options
	documents *documents
	ctx       context.Context
	ready     sync.WaitGroup // done when conn is set
	conn      *jsonrpc2.Conn
	state     state
	projects  map[string]*project // by root
	catalog   *catalog
}

// handler answers a request or a notification. The result of a notification is ignored.
type handler func(params json.RawMessage) (any, error)

// handlers returns the handlers by method.
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

// with returns a handler that decodes the parameters of a message and calls the function handle with them. If
// they are invalid, the handler returns an error instead.
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

// ignore handles a notification that needs no work. It always returns nil.
func ignore(json.RawMessage) (any, error) { return nil, nil } //nolint:nilnil // no result, and none is wanted

// Handle implements jsonrpc2.Handler: it calls the method answer, and sends the result or the error to the client.
// A notification gets no response.
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

// codeNotInitialized and codeInvalidRequest are error codes of LSP.
const (
	codeNotInitialized = -32002
	codeInvalidRequest = jsonrpc2.CodeInvalidRequest
)

// answer calls the handler for a message and returns the result. It returns an error if the method is unknown,
// or if the client must not use the method in the present state. A panic in the handler becomes an error, which
// is also shown in the editor.
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

// mistakeError returns an error for a panic in gatefold.
func mistakeError(mistake any) error { return fmt.Errorf("a mistake in gatefold: %v", mistake) }

// initialize answers the first request with the capabilities of the server. It chooses the encoding of
// positions and starts a project for each folder of the workspace. The error is always nil.
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

// begin starts a project for a folder of the workspace. It does nothing if there is a project already, or if
// the URI is not of a file.
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

// endAll ends all projects. Their diagnostics stay in the editor.
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

// touch requests a validation of the folders that contain a document.
func (s *server) touch(uri string) {
	path := pathOf(uri)
	for _, project := range s.projects {
		if _, ok := project.name(path); ok && path != "" {
			project.touch()
		}
	}
}

// publish sends the diagnostics of a file to the editor.
func (s *server) publish(p publishParams) {
	s.ready.Wait()
	_ = s.conn.Notify(s.ctx, "textDocument/publishDiagnostics", p)
}

// failed shows an error in the editor.
func (s *server) failed(err error) {
	s.ready.Wait()
	_ = s.conn.Notify(s.ctx, "window/showMessage", messageParams{Type: messageError, Message: "gatefold: " + err.Error()})
}
