package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gatefold/gatefold/server/admin"
)

// printCertificates prints a table of the certificates that clients reject now, or that end soon. If there are none, it
// prints nothing.
func printCertificates(out io.Writer, certificates []admin.Certificate) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "\nCERTIFICATE\tSTATE\tENDS\tNAMES\n"
	for _, c := range certificates {
		if c.State == admin.CertificateValid {
			continue
		}
		ends := c.NotAfter.Format(time.RFC3339)
		if c.State == admin.CertificateEndsSoon {
			ends += ", " + untilWords(c.NotAfter)
		}
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\n", head, c.Object, c.State.Words(), ends, cell(strings.Join(c.Names, ", ")))
		head = ""
	}
	return w.Flush()
}

// untilWords returns in words how long it is until a time: "in 5 days", or "in less than a day".
func untilWords(at time.Time) string {
	if days := int(math.Round(time.Until(at).Hours() / 24)); days > 0 {
		return "in " + count(days, "day")
	}
	return "in less than a day"
}
