package ir

import "time"

// JWT says which tokens a GatewayExtension accepts. A valid token of one provider is enough.
type JWT struct {
	// Name is the "namespace/name" of the GatewayExtension, by which routes refer to it.
	Name string
	// Missing lets requests without a token pass. Failed also lets requests with an invalid token pass.
	Missing, Failed bool
	Providers       []JWTProvider
	// Rejected is the message of the Envoys that rejected the providers, if every connected Envoy rejected them.
	// Requests are then answered with 403. If at least one Envoy accepted the providers, Rejected is "".
	Rejected string
}

// JWTProvider is an issuer of tokens.
type JWTProvider struct {
	Name string
	// Issuer is "" if any issuer is accepted. Audiences is empty if any audience is accepted.
	Issuer    string
	Audiences []string
	// Header is the header that contains the token, after the text Prefix. If Header is "", the token is in the query
	// parameter Query.
	Header, Prefix, Query string
	// Forward is true if the backend receives the token, too.
	Forward bool
	Claims  []ClaimHeader
	// ClockSkew is 0 for Envoy's default, which is a minute.
	ClockSkew time.Duration
	Cache     *JWTCache
	// Keys is a JWKS as JSON. It is "" if Envoy fetches the keys (Remote).
	Keys   string
	Remote *RemoteKeys
}

// ClaimHeader copies a claim into a header. Dots separate the names of nested claims.
type ClaimHeader struct{ Claim, Header string }

// JWTCache configures how many verified tokens Envoy caches, up to which size. 0 means Envoy's default.
type JWTCache struct{ Size, MaxTokenSize uint32 }

// RemoteKeys are keys that Envoy fetches from a URL.
type RemoteKeys struct {
	URL string
	// Cluster is the name of the xDS cluster.
	Cluster      string
	CacheFor     time.Duration
	Timeout      time.Duration
	Async        bool
	RefetchAfter *time.Duration // after a failed fetch; nil means Envoy's default
	Retry        *ServiceRetry
}

// JWTAuth requires a token of clients. Its Extension says which tokens are accepted, and whether a token may be
// missing.
type JWTAuth struct {
	ExtensionUse
}

// Renamed returns a copy of j in which the clusters for remote keys have other names. The parameter newName is a
// function that returns the new name for an old name. Renamed returns nil if j is nil.
func (j *JWT) Renamed(newName func(string) string) *JWT {
	if j == nil {
		return nil
	}
	out := *j
	out.Providers = nil
	for _, p := range j.Providers {
		if p.Remote != nil {
			remote := *p.Remote
			remote.Cluster = newName(remote.Cluster)
			p.Remote = &remote
		}
		out.Providers = append(out.Providers, p)
	}
	return &out
}
