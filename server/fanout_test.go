package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/delta/deltatest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/xds"
)

// asFanoutServer is set in the environment of a process that is to be a server
// for benchmarks, so that its memory and CPU are its own.
const asFanoutServer = "GATEFOLD_TEST_FANOUT_SERVER"

func TestMain(m *testing.M) {
	if address := os.Getenv(asFanoutServer); address != "" {
		if err := serveFanout(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fanoutProfile names the file for a CPU profile of that process, and with ".heap" for
// one of what lives at its last collection.
const fanoutProfile = "GATEFOLD_TEST_FANOUT_PROFILE"

// profile begins a CPU profile; the function that it gives ends it.
func profile(path string) func() {
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		panic(err)
	}
	return func() { pprof.StopCPUProfile(); _ = file.Close() }
}

// order is what the server process is told: to publish this and to measure.
type order struct {
	Clusters int  // all of so many clusters, each with endpoints; 0 for none
	Table    int  // a new form of the table, of so many bytes; 0 for none
	Version  int  // of what is published
	Edits    int  // that the table is ahead
	Collect  bool // the garbage first
}

// footprint are what it answers.
type footprint struct {
	Address   string        // of xDS
	Admin     string        // of the admin pages
	Heap, RSS int           // live heap, and resident, in bytes
	HeapMost  int           // the largest that the heap has been, in bytes
	Allocated int           // on the heap since the start, in bytes
	Peak      int           // most resident since the answer before
	CPU       time.Duration // of the process
	Published time.Duration // that Publish took
}

// serveFanout serves xDS on address and obeys the orders on its standard input.
func serveFanout(address string) error {
	bound := make(chan [2]net.Addr, 1)
	if path := os.Getenv(fanoutProfile); path != "" {
		defer profile(path)()
	}
	s := server.New(server.Options{XDSAddress: address, AdminAddress: "127.0.0.1:0", Listening: func(xds, admin net.Addr) { bound <- [2]net.Addr{xds, admin} }}, zerolog.Nop())
	go func() {
		if err := s.Run(context.Background()); err != nil {
			panic(err)
		}
	}()
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	addresses := <-bound
	now := footprint{Address: addresses[0].String(), Admin: addresses[1].String()}
	for {
		if err := out.Encode(now); err != nil {
			return err
		}
		var o order
		switch err := in.Decode(&o); {
		case errors.Is(err, io.EOF): // the benchmark has ended
			return nil
		case err != nil:
			return err
		}
		began := time.Now()
		if delta := o.delta(); len(delta) > 0 {
			began = time.Now()
			s.Publish(translate.Result{Delta: delta})
		}
		now = footprint{Published: time.Since(began)}
		if err := now.measure(o); err != nil {
			return err
		}
	}
}

// delta returns the resources that are ordered.
func (o order) delta() (delta []xds.Update) {
	version := o.Version
	set := func(typ, name string, body []byte) {
		delta = append(delta, xds.Update{Gateway: "shop/a", Type: typ, Name: name,
			Resource: &xds.Resource{Type: typ, Name: name, Version: deltatest.Version(strconv.Itoa(version), nil), Body: body}})
	}
	for i := range o.Clusters {
		name := clusterName(i)
		set(cds, name, deltatest.Resource(cds, name, "x").Body)
		set(eds, name, deltatest.Resource(eds, name, "x").Body)
	}
	if o.Clusters > 0 {
		set(lds, "http", deltatest.Resource(lds, "http", "x").Body)
	}
	if version += o.Edits; o.Table > 0 {
		body := make([]byte, o.Table)
		random := rand.New(rand.NewPCG(1, uint64(version)))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		set(rds, "r", body)
	}
	return delta
}

// clusterName is as long as one of a Service.
func clusterName(i int) string { return fmt.Sprintf("Service/team-%d/back-end-%d:8080", i/100, i) }

// measure fills in the rest.
func (f *footprint) measure(o order) error {
	if o.Collect {
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.Heap, f.HeapMost, f.Allocated = int(m.HeapAlloc), int(m.HeapSys), int(m.TotalAlloc)
	if o.Collect {
		if path := os.Getenv(fanoutProfile); path != "" {
			var live bytes.Buffer
			if err := errors.Join(pprof.WriteHeapProfile(&live), os.WriteFile(path+".heap", live.Bytes(), 0o600)); err != nil {
				return err
			}
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		value, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		switch name {
		case "VmRSS":
			f.RSS, _ = strconv.Atoi(value)
			f.RSS <<= 10
		case "VmHWM":
			f.Peak, _ = strconv.Atoi(value)
			f.Peak <<= 10
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	f.CPU = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew
}

// fanout is a server process.
type fanout struct {
	t       testing.TB
	address string // of xDS
	admin   string // of the admin pages
	in      *json.Encoder
	out     *json.Decoder
	end     func()
}

// startFanout starts one on address; port 0 takes a free one.
func startFanout(t testing.TB, address string) *fanout {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asFanoutServer+"="+address, "GOGC=100") // its heap is measured
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	f := &fanout{t: t, in: json.NewEncoder(stdin), out: json.NewDecoder(stdout)}
	ended := false
	f.end = func() {
		if ended {
			return
		}
		ended = true
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = command.Wait()
	}
	t.Cleanup(f.end)
	first := f.answer()
	f.address, f.admin = first.Address, first.Admin
	return f
}

func (f *fanout) answer() (now footprint) {
	f.t.Helper()
	if err := f.out.Decode(&now); err != nil {
		f.t.Fatal(err)
	}
	return now
}

// order returns the figures after the order is carried out.
func (f *fanout) order(o order) footprint {
	f.t.Helper()
	if err := f.in.Encode(o); err != nil {
		f.t.Fatal(err)
	}
	return f.answer()
}

// measure returns the figures of a server that rests and has collected its garbage.
func (f *fanout) measure() footprint {
	f.t.Helper()
	f.until("all responses to be answered", func() bool {
		return f.figure("gatefold_xds_pushes_total") == f.figure("gatefold_xds_acks_total")
	})
	return f.order(order{Collect: true})
}

// peak returns the figures without a collection: its Peak is of what happened since the
// answer before.
func (f *fanout) peak() footprint {
	f.t.Helper()
	return f.order(order{Version: 1})
}

// One edit costs the server's memory one table, however many streams it goes to and
// whatever they do: every socket is fed from the same bytes, gRPC's own part included.
func TestOneTableIsEncodedOnceForAllStreams(t *testing.T) {
	const size, streams = 4 << 20, 16
	allocated := func(streams int) int {
		server := startFanout(t, "127.0.0.1:0")
		server.order(order{Table: size, Version: 1})
		clients := newFleet(t, server.address, 0)
		clients.received[rds].Add(streams)
		clients.join(streams, 0)
		clients.received[rds].Wait()
		before := server.measure()
		clients.received[rds].Add(streams)
		server.order(order{Table: size, Version: 2})
		clients.received[rds].Wait()
		after := server.measure()
		clients.leave()
		return after.Allocated - before.Allocated
	}
	one, all := allocated(1), allocated(streams)
	if all-one > 2*size { // gRPC's own part is most of a table with the race detector
		t.Errorf("%d bytes are allocated for %d streams, %d for one; a table has %d", all, streams, one, size)
	}
}

// Clients that never read delay no other one, and hold what they were sent and not what
// was published since.
func TestClientsThatNeverReadHoldOneTable(t *testing.T) {
	const size, deaf, edits = 8 << 20, 8, 12 // a table is more than a window and the sockets take
	server := startFanout(t, "127.0.0.1:0")
	server.order(order{Table: size, Version: 1})
	before := server.measure()
	stuck, others := newFleet(t, server.address, 0), newFleet(t, server.address, 0)
	stuck.deaf = true
	stuck.join(deaf, 0)
	server.awaitStreams(deaf)
	others.received[rds].Add(2)
	others.join(2, 0)
	others.received[rds].Wait()
	for edit := range edits {
		others.received[rds].Add(2)
		server.order(order{Table: size, Version: edit + 2})
		others.received[rds].Wait()
	}
	if held := server.order(order{Collect: true}).Heap - before.Heap; held > 3*size {
		t.Errorf("after %d edits %d bytes more are held; a table has %d", edits, held, size)
	}
}

// awaitStreams waits until n tables were sent.
func (f *fanout) awaitStreams(n int) {
	f.t.Helper()
	f.until(fmt.Sprintf("%d streams", n), func() bool { return f.figure(`gatefold_xds_pushes_total{type="RouteConfiguration"}`) >= n })
}

func (f *fanout) until(what string, condition func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// figure returns the sum of the process's metrics whose names begin so.
func (f *fanout) figure(name string) (sum int) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, "http://"+f.admin+"/metrics", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	_, text := answerTo(f.t, request)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name) {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			if err != nil {
				f.t.Fatal(err)
			}
			sum += int(value)
		}
	}
	return sum
}
