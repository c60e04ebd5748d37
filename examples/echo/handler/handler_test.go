package handler

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestEchoFailsAsAsked(t *testing.T) {
	echo := Echo("a")
	for i, step := range []struct {
		target string
		want   int
	}{
		{"/", 200},
		{"/?status=503", 503},
		{"/?status=503", 503},
		{"/?status=503&times=2", 503},
		{"/?status=503&times=2", 503},
		{"/?status=503&times=2", 200},
		{"/other?status=503&times=2", 503},
		{"/?status=9", 400},
		{"/?times=x", 400},
		{"/?delay=2h", 400},
	} {
		answer := httptest.NewRecorder()
		echo.ServeHTTP(answer, httptest.NewRequest("GET", step.target, nil))
		if answer.Code != step.want {
			t.Errorf("%d: %s: status %d, want %d", i, step.target, answer.Code, step.want)
		}
	}
}

func TestEchoWaitsAsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		Echo("a").ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/?delay=300ms", nil))
		if waited := time.Since(begin); waited != 300*time.Millisecond {
			t.Errorf("waited %s", waited)
		}
	})
}
