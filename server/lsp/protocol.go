package lsp

import "encoding/json"

// The types of this file are messages of the Language Server Protocol 3.17. They have only the fields that
// gatefold uses.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"` // in the units of the encoding
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type initializeParams struct {
	RootPath         string            `json:"rootPath"`
	RootURI          string            `json:"rootUri"`
	WorkspaceFolders []workspaceFolder `json:"workspaceFolders"`
	Capabilities     struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
	} `json:"capabilities"`
}

type workspaceFolder struct {
	URI string `json:"uri"`
}

type initializeResult struct {
	Capabilities serverCapabilities `json:"capabilities"`
	ServerInfo   serverInfo         `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type serverCapabilities struct {
	PositionEncoding string          `json:"positionEncoding"`
	TextDocumentSync textSync        `json:"textDocumentSync"`
	Workspace        json.RawMessage `json:"workspace,omitempty"`

	HoverProvider      bool              `json:"hoverProvider"`
	DefinitionProvider bool              `json:"definitionProvider"`
	CompletionProvider completionOptions `json:"completionProvider"`
	CodeActionProvider codeActionOptions `json:"codeActionProvider"`
}

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type codeActionOptions struct {
	CodeActionKinds []string `json:"codeActionKinds"`
}

type textSync struct {
	OpenClose bool `json:"openClose"`
	Change    int  `json:"change"` // 2: edits with ranges
	Save      bool `json:"save"`
}

// incrementalSync is the kind of synchronization by which editors send only edits.
const incrementalSync = 2

type foldersParams struct {
	Event struct {
		Added   []workspaceFolder `json:"added"`
		Removed []workspaceFolder `json:"removed"`
	} `json:"event"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	Text    string `json:"text"`
}

type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
}

type changeParams struct {
	TextDocument   textDocument `json:"textDocument"`
	ContentChanges []textChange `json:"contentChanges"`
}

// textChange replaces a range of a document, or the whole text if Range is nil.
type textChange struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"` // of an open document
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Range           span             `json:"range"`
	Severity        int              `json:"severity"`
	Code            string           `json:"code,omitempty"`
	CodeDescription *codeDescription `json:"codeDescription,omitempty"`
	Source          string           `json:"source"`
	Message         string           `json:"message"`
}

type codeDescription struct {
	Href string `json:"href"`
}

const (
	severityError   = 1
	severityWarning = 2
)

type messageParams struct {
	Type    int    `json:"type"`
	Message string `json:"message"`
}

// messageError is the type of a message that reports an error.
const messageError = 1
