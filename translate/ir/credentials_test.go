package ir_test

import (
	"testing"

	"github.com/gatefold/gatefold/translate/ir"
)

func TestNamesCredential(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "X-Api-Key": true, "apikey": true, "access_token": true, "Cookie": true, "Set-Cookie": true,
		"clientSecret": true, "x-auth": true, "basicAuth": true, "sig": true, "code": true, "Ocp-Apim-Subscription-Key": true, "SESSIONID": true,
		"accept": false, "author": false, "x-author-id": false, ":authority": false, "partition-key": false, "keyword": false, "design": false, "": false,
	} {
		if got := ir.NamesCredential(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
