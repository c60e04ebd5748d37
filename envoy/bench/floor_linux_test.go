package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/fsnotify/fsnotify"
	yamlv3 "go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
	"k8s.io/apimachinery/pkg/runtime"
	k8sschema "k8s.io/apimachinery/pkg/runtime/schema"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gatefold/gatefold/envoy/envoytest"
	"github.com/gatefold/gatefold/store/schema"
	"github.com/gatefold/gatefold/translate/xds"
)

// The floor of an edit is the least that any server of these files must do: take the
// file's event, read it, parse and validate its one object, encode the bucket of routes
// that it lies in, join it with the kept bytes of all others, and send the table. It
// does nothing else: no quiet time, no second look, no status, no problems, no other
// object that could have been meant. It runs in a process of its own, as gatefold does.

// floorJob is what a floor is started with.
type floorJob struct {
	Shape           shape
	Folder, Address string
}

// floor is such a process.
type floor struct {
	*process
	floorJob
	staging string
}

// startFloor starts the floor of a shape.
func startFloor(t testing.TB, s shape) *floor {
	t.Helper()
	f := &floor{floorJob: floorJob{s, t.TempDir(), fmt.Sprintf("%s:%d", envoytest.LoopbackAddress(), envoytest.FreePort(t))}, staging: t.TempDir()}
	f.process = launch(t, again(t, roleFloor, f.floorJob))
	return f
}

func (f *floor) edit(name string, text []byte) time.Time {
	f.t.Helper()
	return replace(f.t, f.staging, f.Folder, name, text)
}

// again is this program in another role.
func again(t testing.TB, role string, job any) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+role, jobVariable+"="+string(text))
	return command
}

// floorServer is what runs in the process.
type floorServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	job     floorJob
	schemas *schema.Set
	table   *floorTable
	pushes  chan []byte
	version int
}

// runFloor serves until it is killed.
func runFloor(job floorJob) error {
	schemas, err := schema.Load()
	if err != nil {
		return err
	}
	s := &floorServer{job: job, schemas: schemas, table: newFloorTable(job.Shape), pushes: make(chan []byte, 1)}
	if _, err := s.parse(job.Shape.route(0, 0)); err != nil { // compiles the schema
		return err
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	if err := files.Add(job.Folder); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", job.Address)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	s.pushes <- s.table.join()
	for event := range files.Events {
		if !event.Has(fsnotify.Create) {
			continue
		}
		if err := s.take(event.Name); err != nil {
			return err
		}
	}
	return nil
}

// take makes the table of a changed file.
func (s *floorServer) take(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	route, err := s.parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	s.table.set(route)
	s.pushes <- s.table.join()
	return nil
}

// parse reads and validates one object.
func (s *floorServer) parse(text []byte) (*gwv1.HTTPRoute, error) {
	object, err := parseSound(s.schemas, text)
	if err != nil {
		return nil, err
	}
	route := &gwv1.HTTPRoute{}
	return route, runtime.DefaultUnstructuredConverter.FromUnstructured(object, route)
}

// parseSound reads one object that must be valid, with the tools of an API server.
func parseSound(schemas *schema.Set, text []byte) (map[string]any, error) {
	object := map[string]any{}
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	kind := k8sschema.GroupVersionKind{Group: gwv1.GroupName, Version: "v1", Kind: "HTTPRoute"}
	if found := schemas.Check(kind, object); len(found) > 0 {
		return nil, fmt.Errorf("%s: %s", found[0].Field, found[0].Message)
	}
	return object, nil
}

// DeltaAggregatedResources sends each table to the one client.
func (s *floorServer) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		if request.TypeUrl == xds.RouteType {
			name := request.ResourceNamesSubscribe[0]
			go func() { // reads acknowledgements, which need no answer
				for err == nil {
					_, err = stream.Recv()
				}
			}()
			return s.send(stream, name)
		}
	}
}

func (s *floorServer) send(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer, name string) error {
	for body := range s.pushes {
		s.version++
		version := fmt.Sprint(s.version)
		err := stream.Send(&discoveryv3.DeltaDiscoveryResponse{
			TypeUrl: xds.RouteType, Nonce: version,
			Resources: []*discoveryv3.Resource{{
				Name: name, Version: version, Resource: &anypb.Any{TypeUrl: xds.RouteType, Value: body},
			}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// parseJob measures what a start cannot do without: each file of a folder is read, hashed and parsed as YAML once, on one
// core, and kept.
type parseJob struct{ Folder string }

// runParse prints the CPU time in nanoseconds, and the number of documents.
func runParse(job parseJob) error {
	files, err := filepath.Glob(filepath.Join(job.Folder, "r*.yaml"))
	if err != nil {
		return err
	}
	began := ownCPU()
	var kept []any
	hashes := map[string][sha256.Size]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		hashes[file] = sha256.Sum256(text)
		for decoder := yamlv3.NewDecoder(bytes.NewReader(text)); ; {
			var document any
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			kept = append(kept, document)
		}
	}
	fmt.Println(int64(ownCPU()-began), len(kept))
	return nil
}
