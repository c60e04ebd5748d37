package keypair

import "testing"

func TestCovers(t *testing.T) {
	names := []string{"example.com", "*.shop.example.com", "Mixed.Example.org"}
	for host, want := range map[string]struct{ all, some bool }{
		"example.com":            {true, true},
		"www.example.com":        {false, false},
		"a.shop.example.com":     {true, true},
		"A.Shop.Example.Com":     {true, true},
		"a.b.shop.example.com":   {false, false},
		"shop.example.com":       {false, false},
		"mixed.example.org":      {true, true},
		"*.shop.example.com":     {true, true},
		"*.example.com":          {false, true},
		"*.a.shop.example.com":   {false, false},
		"*.example.org":          {false, true},
		"*.example.net":          {false, false},
		"com":                    {false, false},
		"":                       {false, false},
		"ashop.example.com":      {false, false},
		"notexample.com":         {false, false},
		"example.com.attack.com": {false, false},
	} {
		if got := Covers(names, host); got != want.all {
			t.Errorf("%q is covered: %v", host, got)
		}
		if got := CoversSome(names, host); got != want.some {
			t.Errorf("some of %q is covered: %v", host, got)
		}
	}
}
