package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/host"
	"github.com/gatefold/gatefold/translate/ir"
	"github.com/gatefold/gatefold/watcher"
)

// A panic while the folder is watched, or in taking what it says, does not end gatefold: the
// folder is watched anew, as a whole.
func TestTheFolderIsWatchedAnewAfterAPanic(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.yaml"), []byte(oneGateway), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	srv := server.New(server.Options{}, zerolog.New(zerolog.SyncWriter(&log)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := 0
	err := watching(ctx, srv, watcher.Options{Root: folder, Limits: watcher.DefaultLimits()}, zerolog.Nop(), func(tree watcher.Tree) {
		if calls++; calls == 1 {
			panic("a mistake")
		}
		if tree.Files.Len() != 1 {
			t.Errorf("the second Tree has %d files", tree.Files.Len())
		}
		cancel()
	})
	if err != nil || calls != 2 || !strings.Contains(log.String(), `"task":"watcher"`) {
		t.Errorf("%d calls, %v\n%s", calls, err, log.String())
	}
}

// A panic of what looks after an Envoy ends neither gatefold nor the Envoy, which is adopted.
func TestASupervisorBeginsAnewAfterAPanic(t *testing.T) {
	run, err := os.MkdirTemp("", "gatefold-run-") //nolint:usetesting // the path of a socket is to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	binary, err := host.NewBinary(t.Context(), envoytest.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(zerolog.NewTestWriter(t))
	first, adopted := 0, make(chan int, 1)
	envoys, err := host.New(host.Options{
		Binary: binary, Folder: run, XDSAddress: "unix:" + filepath.Join(run, "xds"), NodeID: "n", DrainTime: time.Second,
		Steady: server.New(server.Options{}, log).Steady,
		Changed: func(states []host.State) {
			switch {
			case len(states) == 0 || states[0].Phase != host.Running:
			case first == 0:
				first = states[0].Pid
				panic("a mistake")
			case len(adopted) == 0:
				adopted <- states[0].Pid
			}
		},
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- envoys.Run(ctx) }()
	envoys.Apply([]ir.InfraUpdate{{Gateway: "default/eg", Infra: &ir.Infra{Gateway: "default/eg", Addresses: []string{"127.0.0.1"}, Ports: []uint32{uint32(envoytest.FreePort(t))}}}})
	if pid := <-adopted; pid != first || pid == 0 {
		t.Errorf("Envoy %d runs in the place of %d", pid, first)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(run, "*.run.json")); err != nil || len(left) > 0 {
		t.Errorf("run files are left: %v %v", left, err)
	}
}
