package envoytest

import "errors"

// Client sends HTTP/1.1 requests on kept-alive connections, one for each address and TLS server name. Only one
// goroutine may use it. It sends every path and header unchanged.
type Client struct {
	kept map[string]*conn // by Request.place
}

// NewClient returns a Client without connections.
func NewClient() *Client { return &Client{kept: map[string]*conn{}} }

// Do sends a request and returns the whole response. If the server has closed the kept-alive connection, Do sends
// the request a second time, so the request must be safe to repeat. The error means that there is no response.
func (k *Client) Do(request Request) (*Response, error) {
	response, _, err := k.exchange(request, request.encode(), false)
	return response, err
}

// Close closes all connections.
func (k *Client) Close() {
	for _, c := range k.kept {
		_ = c.Close()
	}
}

// exchange sends a request and returns the response. The parameter encoded is the request as bytes. If fresh is true,
// exchange uses a new connection. The result resent is true if the server had closed the kept-alive connection, so
// that exchange tried again on a new one. The error means that there is no response.
func (k *Client) exchange(request Request, encoded []byte, fresh bool) (response *Response, resent bool, err error) {
	c, err := k.take(request, fresh)
	if err != nil {
		return nil, false, err
	}
	response, err = c.exchange(request, encoded)
	if errors.Is(err, errStale) {
		_ = c.Close()
		resent = true
		if c, err = dial(request); err != nil {
			return nil, resent, err
		}
		response, err = c.exchange(request, encoded)
	}
	if fresh || err != nil || c.closing {
		_ = c.Close()
	} else {
		k.kept[request.place()] = c
	}
	return response, resent, err
}

// take returns a connection for a request. If fresh is false and there is a kept-alive connection, it returns
// that connection and removes it from k.kept. Otherwise it returns a new connection, or an error if it cannot
// connect.
func (k *Client) take(request Request, fresh bool) (*conn, error) {
	c := k.kept[request.place()]
	if fresh || c == nil {
		return dial(request)
	}
	delete(k.kept, request.place())
	return c, nil
}

// place returns the key of a kept connection. Requests with the same key use it in turn.
func (r Request) place() string {
	place := r.Address + " from " + r.From
	if r.TLS != nil {
		place += " for " + r.TLS.ServerName
	}
	return place
}
