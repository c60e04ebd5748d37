package oidc

import (
	"bytes"
	"encoding/json"
	"io"
	"os"

	"github.com/gatefold/gatefold/server/wholefile"
	"github.com/gatefold/gatefold/translate/ir"
)

// maxSaved limits the file of saved documents, in bytes: with the names of fields.
const maxSaved = maxIssuers * (5*maxEndpoint + 512)

// load returns what Options.File has: endpoints that can be used, by issuer. What cannot be
// used is left out, and asked for again.
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

// save writes what is known, as a whole or not at all.
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

// replaceFile writes a value as JSON in the place of a file.
func replaceFile(path string, value any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // six bytes for each &
	if err := encoder.Encode(value); err != nil {
		return err
	}
	return wholefile.Replace(path, body.Bytes(), 0o600)
}
