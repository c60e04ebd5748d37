package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/server/install"
	"github.com/gatefold/gatefold/translate"
)

// hostOptions are the flags of host mode: gatefold runs an Envoy for each Gateway on this machine.
type hostOptions struct {
	on     bool          // --envoy
	path   string        // --envoy-path: the Envoy binary
	folder string        // --envoy-run-dir: for sockets and the state of host mode
	drain  time.Duration // --envoy-drain
	most   int           // --max-envoys: the largest number of Envoys
	keep   bool          // --envoy-keep: Envoys stay running when gatefold ends

	host *engine.Host // set by apply; nil without --envoy
}

func (o *hostOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "envoy", false, "run an Envoy for each Gateway on this machine; xDS is served on a socket in --envoy-run-dir then, unless --xds-address says otherwise")
	flags.StringVar(&o.path, "envoy-path", "", "the Envoy of --envoy (default the one that 'gatefold envoy install' put into use, else envoy on $PATH)")
	flags.StringVar(&o.folder, "envoy-run-dir", "", "where --envoy keeps sockets and which processes are its own (default $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/gatefold or /run/gatefold)")
	flags.DurationVar(&o.drain, "envoy-drain", 30*time.Second, "how long requests under way may take when an Envoy of --envoy ends")
	flags.IntVar(&o.most, "max-envoys", host.MaxEnvoys, "largest number of Envoys that --envoy runs: those that run stay, then older Gateways come first")
	flags.BoolVar(&o.keep, "envoy-keep", false, "leave the Envoys of --envoy running at SIGTERM, for the next gatefold to adopt; SIGINT ends them all the same")
}

// apply checks the flags of host mode, finds Envoy, and sets o.host and routes.ExclusivePorts. Without --envoy, it
// does nothing. The parameter to has the server's options: if to.XDSAddress is unset or the default, apply sets it
// to a socket in the folder for sockets. A version of Envoy that is not supported is only logged. apply returns an
// error if a flag is invalid, if there is no folder for sockets or no usable Envoy, if this machine cannot run
// Envoys, or if the name of this machine is not known.
func (o *hostOptions) apply(ctx context.Context, to *server.Options, routes *translate.Options, log zerolog.Logger) error {
	if !o.on {
		return nil
	}
	if o.most < 1 {
		return fmt.Errorf("--max-envoys %d: at least 1", o.most)
	}
	if err := host.Check(); err != nil {
		return err
	}
	if to.TLS.Any() {
		return errors.New("--envoy and --xds-tls-cert exclude each other: for Envoys on other machines run a second gatefold on the folder")
	}
	folder, err := o.runFolder()
	if err != nil {
		return err
	}
	if to.XDSAddress == "" || to.XDSAddress == defaultXDSAddress {
		to.XDSAddress = "unix:" + filepath.Join(folder, "xds.sock")
	}
	binary, err := host.NewBinary(ctx, cmp.Or(o.path, install.InUse()))
	if err != nil {
		return err
	}
	if !host.Supports(binary.Version) {
		log.Warn().Str("envoy", binary.Path).Str("version", binary.Version).
			Msg("gatefold is made for Envoy " + host.Supported + "; with another version routes may not do what they say")
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this machine: %w", err)
	}
	options := host.Options{
		Binary: binary, Folder: folder, XDSAddress: xdsOf(to.XDSAddress), NodeID: name, DrainTime: o.drain, MaxEnvoys: o.most,
		Self: append(os.Args[:1:1], envoyDetached()...),
	}
	o.host = &engine.Host{Options: options, Keep: o.keep}
	routes.ExclusivePorts = true
	return nil
}

// xdsOf returns the address at which an Envoy on this machine connects to gatefold. The parameter address is
// where gatefold listens.
func xdsOf(address string) string {
	if strings.HasPrefix(address, "unix:") {
		return address
	}
	return reachable(address)
}

// runFolder returns the absolute path of the folder for sockets. It returns an error if no folder is known.
func (o *hostOptions) runFolder() (string, error) {
	if o.folder != "" {
		return filepath.Abs(o.folder)
	}
	// systemd creates this folder, and may list several.
	if folder, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":"); folder != "" {
		return folder, nil
	}
	if folder := os.Getenv("XDG_RUNTIME_DIR"); folder != "" {
		return filepath.Join(folder, "gatefold"), nil
	}
	if os.Geteuid() == 0 {
		return "/run/gatefold", nil
	}
	return "", errors.New("--envoy needs a folder for sockets: name it by --envoy-run-dir")
}

// printSupervised prints a table with a row for each Envoy that gatefold runs on this machine. It prints
// nothing if there are none.
func printSupervised(out io.Writer, states []host.State) error {
	if len(states) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nGATEWAY\tENVOY HERE\tPID\tSINCE\tRESTARTS\tWHY")
	for _, s := range states {
		state, pid, since := string(s.Phase), "-", "-"
		if s.Adopted {
			state += " (adopted)"
		}
		if s.Epoch > 0 {
			state += fmt.Sprintf(", epoch %d", s.Epoch)
		}
		if s.Pid != 0 {
			pid, since = fmt.Sprint(s.Pid), s.Started.Format(time.RFC3339)
		}
		why := s.Message
		if s.Former != 0 {
			why = strings.TrimSpace(fmt.Sprintf("%s the former epoch, pid %d, answers requests that are under way", why, s.Former))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", s.Gateway, state, pid, since, s.Restarts, cell(why))
	}
	return w.Flush()
}
