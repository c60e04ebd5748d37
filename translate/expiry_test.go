package translate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate"
	"github.com/gatefold/gatefold/translate/ir"
)

// Whatever the clock does, and whichever certificates there are, what is kept of their ends
// is what a look at all of them says; they are looked at when they change, and when one of
// them begins or ends.
func TestExpiryIsWhatALookAtAllCertificatesSays(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	certificates := func(n int) (out []ir.Certificate) {
		for i := range n {
			out = append(out, ir.Certificate{Secret: manifest.Key{Name: fmt.Sprint(i)}, NotBefore: at(10), NotAfter: at(100 + i)})
		}
		return out
	}
	few := translate.Result{Certificates: certificates(2), Authorities: []ir.Authorities{{NotAfter: at(300)}}}
	many := translate.Result{Certificates: certificates(50), Authorities: few.Authorities}
	var expiry translate.Expiry
	for _, step := range []struct {
		name   string
		result translate.Result
		now    time.Time
		looks  bool
	}{
		{"the first", few, at(5), true},
		{"a while later", few, at(9), false},
		{"they begin", few, at(10), true},
		{"an edit", few, at(50), false},
		{"more of them", many, at(60), true},
		{"another edit", many, at(61), false},
		{"the last moment of one", many, at(100), false},
		{"one ended", many, at(100).Add(time.Nanosecond), true},
		{"nothing more", many, at(101), false},
		{"all ended", many, at(200), true},
		{"and nothing ends until the authorities do", many, at(299), false},
		{"which they do", many, at(301), true},
		{"a year later", many, at(301).AddDate(1, 0, 0), false},
		{"the clock is set back", many, at(60), true},
		{"others again", few, at(60), true},
		{"none", translate.Result{}, at(60), false},
	} {
		if looks := looks(expiry, &step.result, step.now); looks != step.looks {
			t.Errorf("%s: the certificates were looked at: %t, want %t", step.name, looks, step.looks)
		}
		if got, want := expiry.At(&step.result, step.now), step.result.Expired(step.now); !slices.Equal(got, want) {
			t.Errorf("%s: told is %v, so it is: %v", step.name, got, want)
		}
	}
}

// looks reports whether an Expiry looks at the certificates of a Result at a time: whether it
// notices that one of them has changed where it lies, which none does.
func looks(expiry translate.Expiry, r *translate.Result, now time.Time) bool {
	if len(r.Certificates) == 0 {
		return false
	}
	was := r.Certificates[0]
	defer func() { r.Certificates[0] = was }()
	r.Certificates[0] = ir.Certificate{Secret: manifest.Key{Name: "changed"}}
	return slices.ContainsFunc(expiry.At(r, now), func(p manifest.Problem) bool { return p.Object.Name == "changed" })
}

// A machine may start with a clock that is years ahead: what it said then is taken back
// when the clock is set, though by its monotonic reading time has gone on.
func TestExpiryFollowsAClockThatIsSetBack(t *testing.T) {
	ahead := time.Now()
	set := setBack(time.Now(), time.Hour)
	if back := ahead.Round(0).Sub(set.Round(0)); set.Before(ahead) || back < time.Hour-time.Minute {
		t.Fatalf("the clock of %v is set back by %v, and not by an hour", set, back)
	}
	result := translate.Result{Certificates: []ir.Certificate{{NotAfter: ahead.Add(-time.Minute)}}}
	var expiry translate.Expiry
	if told := expiry.At(&result, ahead); len(told) != 1 {
		t.Fatalf("told is %v of a certificate that ended a minute ago", told)
	}
	if told := expiry.At(&result, set); len(told) > 0 {
		t.Errorf("told is %v, an hour before it ends", told)
	}
}

// setBack returns what time.Now would, had the clock been set back by d: the monotonic reading
// stays as it is. Package time has no way to make that; the seconds of such a Time stand
// above 30 bits of nanoseconds.
func setBack(now time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&now)) -= uint64(d/time.Second) << 30
	return now
}
