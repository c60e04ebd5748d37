package pods

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// container is all that a program sees of the world, and all that closes with
// its pod.
type container struct {
	address string // 127.0.2.N
	env     map[string]string
	files   mounts
	log     *lines

	mu     sync.Mutex
	closed bool
	open   map[io.Closer]struct{}
	work   sync.WaitGroup
}

// program binds its ports through the container and serves until that is
// closed. What it returns tells why a port cannot be bound or its environment
// is faulty.
type program func(*container) error

// run starts the program that stands in for the container of a Pod.
func run(object *corev1.Pod, sources Sources) (*container, error) {
	if n := len(object.Spec.Containers); n != 1 {
		return nil, fmt.Errorf("a pod has one container here, not %d", n)
	}
	spec := object.Spec.Containers[0]
	env, err := environment(object, spec.Env)
	if err != nil {
		return nil, err
	}
	main, err := choose(spec.Image, env)
	if err != nil {
		return nil, err
	}
	c := &container{
		address: object.Status.PodIP,
		env:     env,
		files:   mounts{object: object, container: spec, sources: sources},
		log:     &lines{},
		open:    map[io.Closer]struct{}{},
	}
	if err := main(c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// choose finds the program for an image and what its environment asks of it.
func choose(image string, env map[string]string) (program, error) {
	switch {
	case strings.Contains(image, "/coredns"):
		return serveDNS, nil
	case !strings.Contains(image, "/echo-basic"):
		return nil, fmt.Errorf("no program stands in for image %q", image)
	case env["GRPC_ECHO_SERVER"] != "":
		return serveGRPC, nil
	case env["TCP_ECHO_SERVER"] != "":
		return serveTCP, nil
	case env["UDP_ECHO_SERVER"] != "":
		return serveUDP, nil
	}
	return serveHTTP, nil
}

// environment gives the variables of a container of a Pod, with the fields of
// the Pod that they refer to.
func environment(object *corev1.Pod, vars []corev1.EnvVar) (map[string]string, error) {
	out := map[string]string{}
	for _, v := range vars {
		switch {
		case v.ValueFrom == nil:
			out[v.Name] = v.Value
		case v.ValueFrom.FieldRef == nil:
			return nil, fmt.Errorf("environment %s: only fieldRef is known", v.Name)
		case v.ValueFrom.FieldRef.FieldPath == "metadata.name":
			out[v.Name] = object.Name
		case v.ValueFrom.FieldRef.FieldPath == "metadata.namespace":
			out[v.Name] = object.Namespace
		default:
			return nil, fmt.Errorf("environment %s: field %q is not known", v.Name, v.ValueFrom.FieldRef.FieldPath)
		}
	}
	return out, nil
}

// variable gives a variable of the environment, or fallback when it is not set.
func (c *container) variable(name, fallback string) string {
	if value := c.env[name]; value != "" {
		return value
	}
	return fallback
}

// listen binds a TCP port. The listener and each connection that it accepts
// close with the container.
func (c *container) listen(port string) (net.Listener, error) {
	bound, err := net.Listen("tcp4", net.JoinHostPort(c.address, port))
	if err != nil {
		return nil, err
	}
	return &listener{TCPListener: bound.(*net.TCPListener), container: c}, c.hold(bound)
}

// listenPacket binds a UDP port, until the container closes.
func (c *container) listenPacket(port string) (net.PacketConn, error) {
	bound, err := net.ListenPacket("udp4", net.JoinHostPort(c.address, port))
	if err != nil {
		return nil, err
	}
	return bound, c.hold(bound)
}

// serve runs f, which ends when what the container holds is closed. That it
// ended is no news then; anything else is in the log.
func (c *container) serve(f func() error) {
	c.work.Go(func() {
		if err := f(); err != nil && !errors.Is(err, net.ErrClosed) {
			c.log.printf("serving ended: %v", err)
		}
	})
}

// hold closes x with the container, at once when that is closed already.
func (c *container) hold(x io.Closer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(net.ErrClosed, x.Close())
	}
	c.open[x] = struct{}{}
	return nil
}

func (c *container) release(x io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, x)
}

// close closes what is held, and returns when nothing serves any more.
func (c *container) close() {
	c.mu.Lock()
	c.closed = true
	held := c.open
	c.open = nil
	c.mu.Unlock()
	for x := range held {
		_ = x.Close() // the other side may have closed it before
	}
	c.work.Wait()
}

// listener accepts connections that close with their container.
type listener struct {
	*net.TCPListener
	container *container
}

func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return &conn{TCPConn: accepted, container: l.container}, l.container.hold(accepted)
}

// conn is a connection that its container forgets when it closes.
type conn struct {
	*net.TCPConn
	container *container
}

func (c *conn) Close() error {
	c.container.release(c.TCPConn)
	return c.TCPConn.Close()
}
