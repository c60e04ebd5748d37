package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gatefold/gatefold/store/counted"
)

// readBasicAuth sets the field basicAuth of the TrafficPolicy from the annotations auth-type, auth-secret and
// auth-secret-type. It returns the verdict on one annotation. The parameter key is the name of this annotation: one
// of these three, or auth-realm, which no policy can express. If basicAuth was set, class is Different, and message
// says what differs. If import cannot express the annotations, class is Refused, and message is the reason.
func (s *settings) readBasicAuth(key string) (class Class, message string) {
	secret := s.values["auth-secret"]
	if namespace, name, ok := strings.Cut(secret, "/"); ok {
		if namespace != s.ingress.key.Namespace {
			return Refused, "the Secret is in another namespace"
		}
		secret = name
	}
	switch {
	case s.values["auth-type"] != "basic":
		return Refused, "auth-type is not basic"
	case !plainName(secret):
		return Refused, "there is no auth-secret"
	case s.values["auth-secret-type"] != "" && s.values["auth-secret-type"] != "auth-file":
		return Refused, "a Secret with an entry for each user; write them into one entry, as htpasswd does"
	}
	s.policy["basicAuth"] = map[string]any{"secretRef": map[string]any{"name": secret, "key": "auth"}}
	if key == "auth-realm" {
		return Different, "the realm is Envoy's"
	}
	return Different, "basicAuth; the hashes of passwords must be {SHA}: gatefold hash writes them"
}

// readCORS sets the field cors of the TrafficPolicy from the CORS annotations. A missing annotation gets the default
// of ingress-nginx. If every origin is allowed, readCORS does not allow credentials. It sets nothing if enable-cors
// is not true, or if no allowed origin can be expressed (see plainOrigins).
func (s *settings) readCORS() {
	if on, _ := boolean(s.values["enable-cors"]); !on {
		return
	}
	words := func(key, fallback string) []any {
		value := s.values[key]
		if value == "" {
			value = fallback
		}
		var all []any
		for _, word := range strings.Split(value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				all = append(all, word)
			}
		}
		return all
	}
	origins, anyOrigin := plainOrigins(words("cors-allow-origin", "*"))
	if len(origins) == 0 {
		return
	}
	cors := map[string]any{
		"allowOrigins": origins,
		"allowMethods": words("cors-allow-methods", "GET, PUT, POST, DELETE, PATCH, OPTIONS"),
		"allowHeaders": words("cors-allow-headers", "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"),
		"maxAge":       int64(1728000),
	}
	if age, err := strconv.ParseInt(s.values["cors-max-age"], 10, 32); err == nil && age > 0 {
		cors["maxAge"] = age
	}
	if exposed := words("cors-expose-headers", ""); len(exposed) > 0 {
		cors["exposeHeaders"] = exposed
	}
	// If any origin is allowed, nginx answers "*", and browsers then send no credentials. Envoy would answer the
	// origin.
	credentials, given := boolean(s.values["cors-allow-credentials"])
	cors["allowCredentials"] = !anyOrigin && (credentials || !given)
	s.policy["cors"] = cors
}

// plainOrigins returns those CORS origins that a policy can express: "*" and the origins without a wildcard.
// Other origins are left out, because a wildcard in an origin has different meanings in nginx, Traefik and a
// policy. anyOrigin is true if one of the origins is "*".
func plainOrigins(all []any) (plain []any, anyOrigin bool) {
	for _, origin := range all {
		switch {
		case origin == "*":
			anyOrigin = true
			plain = append(plain, origin)
		case !strings.Contains(text(origin), "*") && text(origin) != "":
			plain = append(plain, origin)
		}
	}
	return plain, anyOrigin
}

// readIdle sets the idle timeout of streams (timeouts.streamIdle) to a number of seconds. If a longer timeout is
// already set, that one remains.
func (s *settings) readIdle(seconds int) {
	timeouts, _ := s.policy["timeouts"].(map[string]any)
	if timeouts != nil {
		before, _ := strconv.Atoi(strings.TrimSuffix(text(timeouts["streamIdle"]), "s"))
		seconds = max(seconds, before)
	}
	s.policy["timeouts"] = map[string]any{"streamIdle": fmt.Sprintf("%ds", seconds)}
}

// bodySize matches a size, for example 8m.
var bodySize = regexp.MustCompile(`^([0-9]{1,9})([kKmMgG]?)$`)

// readBodySize sets the limit of the request body (the field buffer) to a size such as 8m. The size 0 means no
// limit, and sets nothing. class and message are the verdict. If import cannot express the size, class is
// Refused, and message is the reason.
func (s *settings) readBodySize(value string) (class Class, message string) {
	found := bodySize.FindStringSubmatch(value)
	if found == nil {
		return Refused, "it is no size"
	}
	number, _ := strconv.ParseInt(found[1], 10, 64)
	size := number * map[string]int64{"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[strings.ToLower(found[2])]
	switch {
	case size == 0:
		return Same, "no limit"
	case size >= 4<<30:
		return Refused, "it is more than 4Gi"
	}
	s.policy["buffer"] = map[string]any{"maxRequestSize": strconv.FormatInt(size, 10)}
	return Different, "buffer.maxRequestSize: Envoy reads the whole request before it sends it on"
}

// readCanary reads one of the canary annotations into s. The parameter key is the name of the annotation without
// the prefix, such as canary-weight. readCanary returns false if the value is invalid.
func (s *settings) readCanary(key, value string) bool {
	number, err := strconv.ParseInt(value, 10, 32)
	switch key {
	case "canary":
		s.canary, _ = boolean(value)
	case "canary-weight":
		s.weight = number
		return err == nil && number >= 0
	case "canary-weight-total":
		s.total = number
		return err == nil && number > 0
	case "canary-by-header":
		s.header = value
		return headerName.MatchString(value)
	case "canary-by-header-value":
		s.headerValue = value
	case "canary-by-header-pattern":
		_, err := counted.ParseRegex(value)
		s.headerRegexp = value
		return err == nil
	case "canary-by-cookie":
		s.cookie = value
		return headerName.MatchString(value)
	}
	return true
}

// headerName matches the names of headers, cookies and query parameters that import accepts. Some valid names do not
// match: import does not accept them.
var headerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
