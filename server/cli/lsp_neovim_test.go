package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// neovimScript is what a person does in Neovim: it opens a file, reads the diagnostics, asks for
// completion, a description, the definition and a correction, and applies that. It writes what it saw
// to $SEEN. A wait is for an event and ends with it.
const neovimScript = `
local seen = {}
local function finish()
  local out = io.open(vim.env.SEEN, 'w')
  out:write(vim.json.encode(seen))
  out:close()
  vim.cmd('qall!')
end
local function run()
  vim.cmd('edit ' .. vim.env.FOLDER .. '/routes.yaml')
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({ name = 'gatefold', cmd = { 'gatefold', 'lsp' }, root_dir = vim.env.FOLDER })
  vim.lsp.buf_attach_client(buffer, client)
  local function diagnostics(n)
    vim.wait(60000, function() return #vim.diagnostic.get(buffer) == n and vim.lsp.get_client_by_id(client).initialized end, 20)
    return vim.diagnostic.get(buffer)
  end
  local function ask(method, line, character, extra)
    local params = { textDocument = vim.lsp.util.make_text_document_params(buffer), position = { line = line, character = character } }
    local answers = vim.lsp.buf_request_sync(buffer, method, vim.tbl_extend('force', params, extra or {}), 60000)
    return answers[client].result
  end
  local first = diagnostics(1)[1]
  seen.diagnostic = { line = first.lnum, column = first.col, last = first.end_col, message = first.message, source = first.source, severity = first.severity }
  seen.hover = ask('textDocument/hover', 4, 4).contents.value
  local actions = ask('textDocument/codeAction', 0, 0, { range = first.user_data.lsp.range, context = { diagnostics = { {
    range = { start = { line = first.lnum, character = first.col }, ['end'] = { line = first.end_lnum, character = first.end_col } },
    message = first.message, source = first.source, severity = first.severity, code = first.user_data.lsp.code } } } })
  vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16')
  seen.fixed = #diagnostics(0)
  seen.text = vim.api.nvim_buf_get_lines(buffer, 6, 7, true)[1]
  vim.api.nvim_buf_set_lines(buffer, 7, 8, true, { '    - group: gateway.kgateway.dev', '      kind: Backend', '      name: ' })
  seen.names = {}
  for _, item in ipairs(ask('textDocument/completion', 9, 12).items) do table.insert(seen.names, item.label) end
  vim.api.nvim_buf_set_lines(buffer, 9, 10, true, { '      name: shop' })
  seen.unfinished = #diagnostics(0)
  seen.definition = ask('textDocument/definition', 9, 14).uri
  vim.lsp.stop_client(client)
  vim.wait(60000, function() return vim.lsp.client_is_stopped(client) end, 20)
  seen.stopped = vim.lsp.client_is_stopped(client)
end
local ok, problem = pcall(run)
if not ok then seen.error = tostring(problem) end
finish()
`

// TestNeovim drives the language server with a real editor.
func TestNeovim(t *testing.T) {
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no nvim: install the package neovim")
		}
		t.Skip("NOT TESTED: the language server with a real editor, for want of nvim (package neovim)")
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(folder, "gateway.yaml"): "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: eg}\n" +
			"spec: {gatewayClassName: gatefold, listeners: [{name: http, port: 8080, protocol: HTTP}]}\n---\n" +
			"apiVersion: gateway.kgateway.dev/v1alpha1\nkind: Backend\nmetadata: {name: shop}\nspec: {type: Static, static: {hosts: [{host: 127.0.0.1, port: 8081}]}}\n",
		filepath.Join(folder, "routes.yaml"): "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: shop}\nspec:\n  parentRefs: [{name: eg}]\n  rules:\n" +
			"  - backendRef:\n    - {group: gateway.kgateway.dev, kind: Backend, name: shop}\n",
		filepath.Join(home, "test.lua"): neovimScript,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", "luafile "+filepath.Join(home, "test.lua"))
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "FOLDER="+folder, "SEEN="+filepath.Join(home, "seen.json"))
	output, err := cmd.CombinedOutput()
	text, missing := os.ReadFile(filepath.Join(home, "seen.json"))
	if err != nil || missing != nil {
		t.Fatalf("nvim: %v, %v\n%s", err, missing, output)
	}
	checkNeovim(t, text, folder)
}

func checkNeovim(t *testing.T, text []byte, folder string) {
	t.Helper()
	var seen struct {
		Error      string
		Diagnostic struct {
			Line, Column, Last, Severity int
			Message, Source              string
		}
		Hover, Text, Definition string
		Fixed, Unfinished       int
		Names                   []string
		Stopped                 bool
	}
	if err := json.Unmarshal(text, &seen); err != nil || seen.Error != "" {
		t.Fatalf("%v\n%s", err, text)
	}
	d := seen.Diagnostic
	if d.Line != 6 || d.Column != 4 || d.Last != 14 || d.Severity != 1 || d.Source != "gatefold" || !strings.Contains(d.Message, `did you mean "backendRefs"?`) {
		t.Errorf("diagnostic: %+v", d)
	}
	if !strings.Contains(seen.Hover, "`spec.parentRefs`: array of object") {
		t.Errorf("hover: %s", seen.Hover)
	}
	if seen.Text != "  - backendRefs:" || seen.Fixed != 0 || seen.Unfinished != 0 {
		t.Errorf("after the correction: %q, %d diagnostics, then %d", seen.Text, seen.Fixed, seen.Unfinished)
	}
	if !slices.Equal(seen.Names, []string{"shop"}) || seen.Definition != "file://"+folder+"/gateway.yaml" || !seen.Stopped {
		t.Errorf("names %v, definition %s, stopped %t", seen.Names, seen.Definition, seen.Stopped)
	}
}
