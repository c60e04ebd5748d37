package cli

import (
	"bufio"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // Envoy's filter for passwords knows nothing else
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// maxPassword is the highest length of a password, in bytes.
const maxPassword = 1024

func hashCommand() *cobra.Command {
	var read bool
	cmd := &cobra.Command{
		Use:   "hash NAME",
		Short: "Print a user for basicAuth, with a new random password or one from standard input",
		Long: "Prints NAME:{SHA}…, a line for basicAuth.users of a TrafficPolicy or for the entry .htpasswd of a Secret.\n" +
			"The password is random, and printed to standard error once. Envoy compares SHA-1 hashes without salt, which\n" +
			"are safe for long random passwords alone: whoever reads the hash finds a short one in seconds.",
		Example: "  gatefold hash alice >> secrets/staging/.htpasswd\n  printf %s \"$PASSWORD\" | gatefold hash alice --stdin",
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if name == "" || strings.HasPrefix(name, "#") || strings.ContainsFunc(name, func(r rune) bool { return r == ':' || r < ' ' || r > '~' }) {
				return errors.New("a name has letters, digits and signs, no colon, and does not begin with #")
			}
			password, err := rand.Text(), error(nil)
			if read {
				password, err = readPassword(cmd.InOrStdin())
			} else {
				fmt.Fprintf(cmd.ErrOrStderr(), "the password of %s, which is not shown again: %s\n", name, password)
			}
			if err != nil {
				return err
			}
			sum := sha1.Sum([]byte(password)) //nolint:gosec // see the import
			fmt.Fprintf(cmd.OutOrStdout(), "%s:{SHA}%s\n", name, base64.StdEncoding.EncodeToString(sum[:]))
			return nil
		},
	}
	cmd.Flags().BoolVar(&read, "stdin", false, "read the password, one line, from standard input")
	return cmd
}

// readPassword reads a password: one line, without its line end. It returns an error if the password is empty or
// longer than maxPassword, or if it cannot be read.
func readPassword(from io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(from, maxPassword+2)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	password := strings.TrimRight(line, "\r\n")
	switch {
	case password == "":
		return "", errors.New("there is no password in standard input")
	case len(password) > maxPassword:
		return "", fmt.Errorf("the password is longer than %d bytes", maxPassword)
	}
	return password, nil
}
