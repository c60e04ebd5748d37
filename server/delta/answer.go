package delta

import "github.com/gatefold/gatefold/translate/xds"

// Answer records the ACK or NACK in a request, and returns the earlier Response to which the request is an
// answer. It returns nil if the request only changes the subscription, if the nonce is unknown, or if the client
// never requested the type.
func (p *Plan) Answer(request *Request) *Response {
	l, detail := p.ledgers[request.GetTypeUrl()], request.GetErrorDetail()
	if l == nil || request.GetResponseNonce() == "" {
		return nil
	}
	return p.book(l, request.GetResponseNonce(), plainWords(l.typ, detail.GetMessage()), detail != nil)
}

// book records Envoy's answer to the response with this nonce, and returns that response. l is the state of the
// response's type. nack is true for a rejection, and words is Envoy's error. book returns nil if no unanswered
// response has the nonce.
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
	return r
}
