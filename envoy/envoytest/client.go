package envoytest

import "errors"

// Client sends requests on connections that it keeps alive, one for each address. Only one
// goroutine may use it. Unlike net/http's client, it sends paths unchanged.
type Client struct {
	kept map[string]*conn // by address
}

// NewClient returns a Client without connections.
func NewClient() *Client { return &Client{kept: map[string]*conn{}} }

// Do sends a request and returns the whole response. It may send the request twice, so the
// request must be safe to repeat.
func (k *Client) Do(request Request) (*Response, error) {
	response, _, err := k.exchange(request, request.encode(), false)
	return response, err
}

// Close closes the connections.
func (k *Client) Close() {
	for _, c := range k.kept {
		_ = c.Close()
	}
}

// exchange sends a request, on a kept-alive connection unless fresh, and tells
// whether it had to be sent twice.
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

// take returns a new connection where fresh, else the kept one, which is not
// kept any more, or a new one.
func (k *Client) take(request Request, fresh bool) (*conn, error) {
	c := k.kept[request.place()]
	if fresh || c == nil {
		return dial(request)
	}
	delete(k.kept, request.place())
	return c, nil
}

// place is what requests over one connection have in common.
func (r Request) place() string {
	if r.TLS == nil {
		return r.Address
	}
	return r.Address + " for " + r.TLS.ServerName
}
