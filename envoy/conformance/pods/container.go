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

// container is the environment of the program of a pod: address, variables, files and log. Closing the
// container closes everything that the program opened through it.
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

// program listens on its ports through the container and returns. Then it serves in the background until the
// container is closed. It returns an error if it cannot listen on a port or if its environment is invalid.
type program func(*container) error

// run starts the program for the container of a Pod and returns the container. The error means that the Pod has not
// exactly one container, that a variable is not supported, that no program fits, or that the program cannot start.
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

// choose returns the program for an image. For the image echo-basic, the environment decides. The error means
// that there is no program.
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

// environment returns the variables of a container, and resolves references to fields of the Pod. A reference
// that is not supported is an error.
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

// variable returns a variable of the environment, or fallback if it is unset or empty.
func (c *container) variable(name, fallback string) string {
	if value := c.env[name]; value != "" {
		return value
	}
	return fallback
}

// listen listens on a TCP port. The listener and all connections that it accepts are closed with the container.
// It returns an error if the port is not available, or if the container is closed.
func (c *container) listen(port string) (net.Listener, error) {
	bound, err := net.Listen("tcp4", net.JoinHostPort(c.address, port))
	if err != nil {
		return nil, err
	}
	return &listener{TCPListener: bound.(*net.TCPListener), container: c}, c.hold(bound)
}

// listenPacket listens on a UDP port. The socket is closed with the container. listenPacket returns an error if the
// port is not available, or if the container is closed.
func (c *container) listenPacket(port string) (net.PacketConn, error) {
	bound, err := net.ListenPacket("udp4", net.JoinHostPort(c.address, port))
	if err != nil {
		return nil, err
	}
	return bound, c.hold(bound)
}

// serve runs f in the background. f must return when the container is closed. An error of f is logged, unless
// it means that the container was closed.
func (c *container) serve(f func() error) {
	c.work.Go(func() {
		if err := f(); err != nil && !errors.Is(err, net.ErrClosed) {
			c.log.printf("serving ended: %v", err)
		}
	})
}

// hold registers x, so that the method close also closes x. If the container is closed already, hold closes x
// at once and returns an error.
func (c *container) hold(x io.Closer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.Join(net.ErrClosed, x.Close())
	}
	c.open[x] = struct{}{}
	return nil
}

// release removes x from the registered objects, so that the method close does not close x.
func (c *container) release(x io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, x)
}

// close closes all registered objects, and waits until all functions of serve have returned.
func (c *container) close() {
	c.mu.Lock()
	c.closed = true
	held := c.open
	c.open = nil
	c.mu.Unlock()
	for x := range held {
		_ = x.Close() // the error means that it was closed before
	}
	c.work.Wait()
}

// listener is a TCP listener. Its connections are closed with its container.
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

// conn is a connection that releases itself from its container when it is closed.
type conn struct {
	*net.TCPConn
	container *container
}

func (c *conn) Close() error {
	c.container.release(c.TCPConn)
	return c.TCPConn.Close()
}
