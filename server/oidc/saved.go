package oidc

import (
	"bytes"
	"encoding/json"
	"io"
	"os"

	"github.com/gatefold/gatefold/server/wholefile"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxSaved limits the size of the file of saved documents, in bytes. It includes 512 bytes per document for
// field names.
const maxSaved = maxIssuers * (5*maxEndpoint + 512)

// load returns the endpoints that were saved in Options.File, by issuer. If there is no file, or the file cannot
// be read, the map is empty. Invalid documents in the file are left out, and requested again.
func (a *Asker) load() map[string]ir.IssuerAnswer {
	known := map[string]ir.IssuerAnswer{}
	if a.options.File == "" {
		return known
	}
	file, err := os.Open(a.options.File)
	if err != nil {
		return known
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, maxSaved))
	if err != nil {
		return known
	}
	var saved []document
	if err := json.Unmarshal(body, &saved); err != nil {
		a.options.Log.Warn().Str("file", a.options.File).Msg("the saved discovery documents cannot be read; issuers are asked again")
		return known
	}
	for _, one := range saved[:min(len(saved), maxIssuers)] {
		answer := ir.IssuerAnswer{Authorization: one.Authorization, Token: one.Token, EndSession: one.EndSession, JWKS: one.JWKS}
		if check(answer) == nil {
			known[one.Issuer] = answer
		}
	}
	return known
}

// save writes all known documents to Options.File, if it is set, for the next start. It replaces the whole file
// or leaves it unchanged. A failure is only logged.
func (a *Asker) save() {
	if a.options.File == "" {
		return
	}
	a.saving.Lock()
	defer a.saving.Unlock()
	var all []document
	for issuer, known := range a.known() {
		all = append(all, document{issuer, known.Authorization, known.Token, known.EndSession, known.JWKS})
	}
	if err := replaceFile(a.options.File, all); err != nil {
		a.options.Log.Warn().Err(err).Msg("discovery documents cannot be saved; after a restart, issuers are asked before they are served")
	}
}

// replaceFile replaces the file at path by the value as JSON. It returns an error if the file cannot be
// written.
func replaceFile(path string, value any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // escaping would use six bytes for each &
	if err := encoder.Encode(value); err != nil {
		return err
	}
	return wholefile.Replace(path, body.Bytes(), 0o600)
}
