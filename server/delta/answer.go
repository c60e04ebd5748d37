package delta

import "github.com/gatefold/gatefold/translate/xds"

// Answer records the ACK or NACK in a request, and returns the response that the request answers. It returns
// nil if the request only subscribes, if its nonce is unknown, or if its type was never requested.
func (p *Plan) Answer(request *Request) *Response {
	l, detail := p.ledgers[request.GetTypeUrl()], request.GetErrorDetail()
	if l == nil || request.GetResponseNonce() == "" {
		return nil
	}
	return p.book(l, request.GetResponseNonce(), plainWords(l.typ, detail.GetMessage()), detail != nil)
}

// book records Envoy's answer to the response with this nonce, and returns the response. l is the ledger of the
// response's type. nack is true for a rejection, and words is Envoy's error. book returns nil if the nonce is
// unknown.
func (p *Plan) book(l *ledger, nonce, words string, nack bool) *Response {
	r := l.flight[nonce]
	if r == nil {
		return nil
	}
	r.Words = words
	if nack {
		l.reject(nonce, words)
	} else {
		l.accept(nonce)
	}
	p.learn(l, r, nack, words)
	if l.typ == xds.ListenerType {
		p.moves.learn(l, r, nack)
	}
	if l.typ == xds.ClusterType {
		p.gate.updateBarrier(l, r, nack)
	}
	p.recordHeld(r, nack)
	return r
}
