package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatefold/gatefold/translate/xds"
)

// admin is a client of the admin interface of one Envoy. socket is the path of a unix socket that only
// gatefold's user can open.
type admin struct{ socket string }

// admin returns the client for the admin socket of f.
func (f files) admin() admin { return admin{f.socket} }

const (
	// askTime limits the duration of one request to the admin interface.
	askTime = 2 * time.Second
	// maxAnswer limits how much of a response body is read, in bytes.
	maxAnswer = 16 << 20
	// drainLook is the time between two checks for open requests. Envoy counts as drained after calmLooks
	// checks in a row without an open request. One check is not enough, because a request may just be arriving.
	drainLook = 50 * time.Millisecond
	calmLooks = 3
	// mergedLooks replaces calmLooks while the previous epoch of a hot restart still runs. Envoy reports the
	// sum of both epochs then, and updates it only every 5 s.
	mergedLooks = 110
)

// ask sends a request to the admin interface and returns the body of the response, at most maxAnswer bytes.
// page is a path with its query. The error means that Envoy cannot be reached, that Envoy does not answer before
// ctx ends or askTime has passed, or that the status is not 200.
func (a admin) ask(ctx context.Context, method, page string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://envoy"+page, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", a.socket)
	}}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", page, response.Status)
	}
	return text, err
}

// serverInfo has the fields that gatefold reads from Envoy's admin page /server_info.
type serverInfo struct {
	Version string `json:"version"` // "9e55…/1.40.0/Clean/RELEASE/BoringSSL"
	State   string `json:"state"`
	Options struct {
		ConfigPath   string `json:"config_path"`
		RestartEpoch int    `json:"restart_epoch"`
	} `json:"command_line_options"`
}

// release returns the release in Version. The result is zero if Version has no release.
func (i serverInfo) release() xds.Release {
	_, version, _ := strings.Cut(i.Version, "/")
	return xds.ReleaseOf(version)
}

// info returns the server info of the Envoy at the socket. It returns an error if the request fails (see ask), or
// if the answer is not valid JSON.
func (a admin) info(ctx context.Context) (serverInfo, error) {
	text, err := a.ask(ctx, http.MethodGet, "/server_info")
	if err != nil {
		return serverInfo{}, err
	}
	var info serverInfo
	err = json.Unmarshal(text, &info)
	return info, err
}

// config returns the path of the configuration file of the Envoy at the socket. It returns "" if no Envoy
// answers. An Envoy that is stopped or very busy does not answer, either.
func (a admin) config() string {
	info, err := a.info(context.Background())
	if err != nil {
		return ""
	}
	return info.Options.ConfigPath
}

// serves reports whether the Envoy that answers at the socket has the given restart epoch and its state is
// LIVE. During a hot restart, the new epoch takes over the socket as soon as it starts.
func (a admin) serves(ctx context.Context, epoch int) bool {
	info, err := a.info(ctx)
	return err == nil && info.Options.RestartEpoch == epoch && info.State == "LIVE"
}

// drain makes Envoy refuse new connections, and end each open connection after its current request. Then drain
// waits until several checks in a row find no open request, or until ctx ends. The parameter looks is the number
// of these checks. drain returns the number of open requests at the last successful check, or 0 if there was none.
// The error means that a request to the admin interface failed (see ask). It is nil if ctx ends during the checks.
func (a admin) drain(ctx context.Context, looks int) (int, error) {
	for _, page := range []string{"/drain_listeners?graceful&skip_exit", "/drain_listeners"} {
		if _, err := a.ask(ctx, http.MethodPost, page); err != nil {
			return 0, err
		}
	}
	active := 0
	for calm := 0; calm < looks; calm++ {
		now, err := a.openRequests(ctx)
		if ctx.Err() != nil {
			return active, nil //nolint:nilerr // the time is over, which is no fault of the Envoy
		}
		if err != nil {
			return active, err
		}
		if active = now; active > 0 {
			calm = -1
		}
		sleep(ctx, drainLook)
	}
	return active, nil
}

// openRequests returns the number of open requests of the Envoy, without requests to its admin interface. It returns
// an error if the request to the admin interface fails (see ask).
func (a admin) openRequests(ctx context.Context) (int, error) {
	text, err := a.ask(ctx, http.MethodGet, "/stats?filter=^http\\..*downstream_rq_active$")
	if err != nil {
		return 0, err
	}
	return activeRequests(string(text)), nil
}

// activeRequests returns the sum of the values in lines like "http.NAME.downstream_rq_active: 3". It ignores the
// lines in which NAME is admin: they count requests to the admin interface.
func activeRequests(stats string) int {
	total := 0
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.Atoi(value); err == nil && !strings.HasPrefix(name, "http.admin.") {
			total += n
		}
	}
	return total
}
