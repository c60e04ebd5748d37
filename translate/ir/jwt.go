package ir

import "time"

// JWT is the set of accepted tokens. A token of any of the providers is enough.
type JWT struct {
	// Name is "namespace/name" of the GatewayExtension, which routes name.
	Name string
	// Missing lets requests without a token pass, Failed those with a token that is not valid, too.
	Missing, Failed bool
	Providers       []JWTProvider
	// Rejected is what Envoys said that rejected the providers, "" unless every connected one did. Envoy
	// answers 403 then.
	Rejected string
}

// JWTProvider is an issuer of tokens.
type JWTProvider struct {
	Name string
	// Issuer is "" for any; no Audiences are any.
	Issuer    string
	Audiences []string
	// Header is where the token is, behind Prefix; "" if it is in the query parameter Query.
	Header, Prefix, Query string
	// Forward sends the token to the backend, too.
	Forward bool
	Claims  []ClaimHeader
	// ClockSkew is 0 for Envoy's default, a minute.
	ClockSkew time.Duration
	Cache     *JWTCache
	// Keys are a JWKS as JSON; "" if they are Remote.
	Keys   string
	Remote *RemoteKeys
}

// ClaimHeader copies a claim into a header. Dots separate the names of nested claims.
type ClaimHeader struct{ Claim, Header string }

// JWTCache configures how many verified tokens Envoy keeps. 0 is Envoy's default.
type JWTCache struct{ Size, MaxTokenSize uint32 }

// RemoteKeys are keys that Envoy fetches.
type RemoteKeys struct {
	URL string
	// Cluster is the xDS cluster's name.
	Cluster      string
	CacheFor     time.Duration
	Timeout      time.Duration
	Async        bool
	RefetchAfter *time.Duration // of a fetch that failed; nil is Envoy's default
	Retry        *ServiceRetry
}

// JWTAuth asks clients for a token.
type JWTAuth struct {
	ExtensionUse
}

// Renamed returns the tokens with new names for the clusters of remote keys.
func (j *JWT) Renamed(name func(string) string) *JWT {
	if j == nil {
		return nil
	}
	out := *j
	out.Providers = nil
	for _, p := range j.Providers {
		if p.Remote != nil {
			remote := *p.Remote
			remote.Cluster = name(remote.Cluster)
			p.Remote = &remote
		}
		out.Providers = append(out.Providers, p)
	}
	return &out
}
