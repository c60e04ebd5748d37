package adapter

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// maxBody is the highest size of a request body, in bytes. API servers have the same limit.
const maxBody = 3 << 20

// mergePatch is the only supported type of patch (RFC 7386).
const mergePatch = "application/merge-patch+json"

// call is a parsed request for one object or a list of objects.
type call struct {
	resource        *resource
	version         string
	namespace, name string
	subresource     string // "", status or log
	labels          labels.Selector
	since           time.Duration // for a log: only lines of this last duration
}

// key returns the key of the object that the call is about.
func (c call) key() key { return key{c.resource, c.namespace, c.name} }

// parse parses the path and the query of a request. It returns an error for the client if they are invalid or
// not supported.
func (a *Adapter) parse(r *http.Request) (call, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(parts) > 2 && parts[0] == "api":
		gv.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		gv.Group, gv.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return call{}, noPage(r)
	}
	c := call{version: gv.Version}
	if len(parts) > 2 && parts[0] == "namespaces" {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.resource = a.find(gv.Group, gv.Version, parts[0])
	if c.resource == nil || len(parts) > 3 || c.namespace != "" && !c.resource.namespaced {
		return call{}, noPage(r)
	}
	if len(parts) > 1 {
		c.name = parts[1]
	}
	if len(parts) > 2 {
		c.subresource = parts[2]
	}
	if c.resource.namespaced && c.namespace == "" && c.name != "" || !c.known() {
		return call{}, noPage(r)
	}
	return c, c.query(r)
}

// noPage returns a 404 error for the path of a request.
func noPage(r *http.Request) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, r.URL.Path, "there is no such path", 0, true)
}

// known reports whether the resource has the subresource of c.
func (c *call) known() bool {
	return c.subresource == "" || c.subresource == "status" && c.resource.checks != nil ||
		c.subresource == "log" && c.resource.kind == "Pod"
}

// query sets c.labels and c.since from the query of a request: from labelSelector, sinceTime and sinceSeconds. It
// returns an error if one of these is invalid. It ignores some other parameters, such as limit. For all others it
// returns an error, because ignoring them could give a wrong answer.
func (c *call) query(r *http.Request) error {
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains([]string{"labelSelector", "sinceTime", "sinceSeconds", "container", "fieldValidation", "fieldManager", "limit", "timeout", "timestamps"}, name) {
			return apierrors.NewBadRequest("the parameter " + name + " is not served")
		}
	}
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	c.labels = selector
	if text := query.Get("sinceTime"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		c.since = max(time.Since(since), 1)
	}
	if text := query.Get("sinceSeconds"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		c.since = time.Duration(seconds) * time.Second
	}
	return nil
}

// do executes a call. It returns the body of the response and the status code, or an error for the client.
func (a *Adapter) do(c call, r *http.Request) (any, int, error) {
	reads := r.Method == http.MethodGet
	if !reads && (c.resource.given || c.subresource != "") {
		return nil, 0, apierrors.NewMethodNotSupported(c.resource.groupResource(), r.Method)
	}
	var body any
	var err error
	code := http.StatusOK
	switch {
	case reads && c.name != "":
		body, err = a.get(c)
	case reads:
		body, err = a.list(c)
	case r.Method == http.MethodPost && c.name == "":
		code = http.StatusCreated
		body, err = a.withBody(c, r, a.create)
	case r.Method == http.MethodPut && c.name != "":
		body, err = a.withBody(c, r, a.update)
	case r.Method == http.MethodPatch && c.name != "":
		if kind := r.Header.Get("Content-Type"); kind != mergePatch {
			return nil, 0, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, r.Method, c.resource.groupResource(), c.name,
				fmt.Sprintf("patches are %s, not %q", mergePatch, kind), 0, true)
		}
		body, err = a.withBody(c, r, a.patch)
	case r.Method == http.MethodDelete && c.name != "":
		body, err = a.withBody(c, r, a.remove)
	default:
		err = apierrors.NewMethodNotSupported(c.resource.groupResource(), r.Method)
	}
	return body, code, err
}

// withBody parses the body of a request as a JSON object and calls write with it. An empty body is an empty
// object. It returns a client error if the body is invalid or too large, and otherwise the error of write.
func (a *Adapter) withBody(c call, r *http.Request, write func(call, map[string]any) (map[string]any, error)) (any, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(text) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the limit is %d bytes", maxBody))
	}
	body := map[string]any{}
	if len(text) > 0 {
		// This package decodes integers as int64 and not as float64. The schemas distinguish them.
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return write(c, body)
}
