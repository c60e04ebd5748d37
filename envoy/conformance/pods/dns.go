package pods

import (
	"net"

	"github.com/miekg/dns"
)

// serveDNS is the program for the image coredns. It answers each query for an A record with the address of its
// pod, which is enough for the suite. It does not read the Corefile, because that forwards to servers outside
// of this machine.
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
