package pods

import (
	"net"

	"github.com/miekg/dns"
)

// serveDNS is the program for the image coredns. It answers every query for an A record with the address of the
// pod that serveDNS runs in, whatever the queried name is. This is enough for the suite. serveDNS does not read the
// Corefile, because the Corefile forwards to servers outside of this machine.
func serveDNS(c *container) error {
	bound, err := c.listenPacket("53")
	if err != nil {
		return err
	}
	server := &dns.Server{PacketConn: bound, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		answer := new(dns.Msg).SetReply(query)
		for _, question := range query.Question {
			c.log.printf("%s %s asked by %s", question.Name, dns.TypeToString[question.Qtype], w.RemoteAddr())
			if question.Qtype != dns.TypeA {
				continue
			}
			header := dns.RR_Header{Name: question.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}
			answer.Answer = append(answer.Answer, &dns.A{Hdr: header, A: net.ParseIP(c.address)})
		}
		if err := w.WriteMsg(answer); err != nil {
			c.log.printf("answer to %s: %v", w.RemoteAddr(), err)
		}
	})}
	c.serve(server.ActivateAndServe)
	return nil
}
