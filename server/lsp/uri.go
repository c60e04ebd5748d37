package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
)

// pathOf returns the path of a file URI. It returns "" for other URIs, and for files on another host.
func pathOf(uri string) string {
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Scheme != "file" || parsed.Host != "" && parsed.Host != "localhost" || !filepath.IsAbs(parsed.Path) {
		return ""
	}
	return filepath.Clean(parsed.Path)
}

// uriOf returns the file URI of a path.
func uriOf(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// below returns the path of a file relative to a folder, with slashes. ok is false if the file is not in the
// folder.
func below(folder, path string) (name string, ok bool) {
	name, err := filepath.Rel(folder, path)
	if err != nil || name == "." || name == ".." || strings.HasPrefix(name, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(name), true
}
