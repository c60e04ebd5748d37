package admin

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// rescued returns a handler that answers 500 if a page panics. The panic is logged with its stack and counted,
// and does not affect other requests. If the page has begun its answer, the connection is closed, so that the
// client does not use half an answer. A panic by which a page closes the connection (see isAbort) is passed on.
func (p pages) rescued(mux http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tracked := &trackedWriter{ResponseWriter: w}
		defer func() {
			switch mistake := recover(); {
			case mistake == nil:
			case isAbort(mistake):
				panic(mistake)
			default:
				p.reportPanic(r, mistake)
				tracked.fail()
			}
		}()
		mux.ServeHTTP(tracked, r)
	})
}

// isAbort reports whether a panic has the value http.ErrAbortHandler, with which a handler makes net/http close
// the connection.
func isAbort(mistake any) bool {
	err, ok := mistake.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// reportPanic counts and logs a panic. The log has only the path of the page, because the query may contain
// headers of a user's request.
func (p pages) reportPanic(r *http.Request, mistake any) {
	p.Panics.Inc()
	p.Log.Error().Str("method", r.Method).Str("page", r.URL.Path).
		Str("panic", fmt.Sprint(mistake)).Bytes("stack", debug.Stack()).
		Msg("internal error: an admin page panicked and answered 500; gatefold still serves; please report it")
}

// trackedWriter is a ResponseWriter that records whether the handler has begun to write the response.
type trackedWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *trackedWriter) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *trackedWriter) Write(data []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(data)
}

// Unwrap returns the wrapped writer, so that http.ResponseController can use the connection.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// fail sends status 500. If the response has already begun, fail panics instead, so that net/http closes the
// connection.
func (w *trackedWriter) fail() {
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	answer(w, http.StatusInternalServerError, word{Error: "internal error; the log of gatefold has the details"})
}
