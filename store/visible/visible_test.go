package visible

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain äß 日本": "plain äß 日本", "a\x1b[31mb": `a\u001b[31mb`, "a\r\nb\tc": `a\u000d\u000ab\u0009c`, "\u202ea": `\u202ea`,
		"\u009b": `\u009b`, "\x7f": `\u007f`, "\u2028\u3000": "\\u2028\u3000", "a\xffb": "a\ufffdb", "\U000e0041": `\udb40\udc41`, "": "",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, piece := range []string{"a\xe6", "\x97\xa5\n\tb\x1b[1m", "c\xff", "d\n"} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "a日\n\tb\\u001b[1mc\ufffdd\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	w.Color = true
	_, _ = w.Write([]byte("\x1b[1;31mred\x1b[0m \x1b[2Jx\x1b]0;t\x07\n"))
	if want := "\x1b[1;31mred\x1b[0m \\u001b[2Jx\\u001b]0;t\\u0007\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// TestWriterKeepsJSON holds that escapes mean in JSON what they stand for.
func TestWriterKeepsJSON(t *testing.T) {
	value := map[string]string{"a\u202e\x7f": "\u009b\u2028\U000e0041\x1b\r\n\t\"\\"}
	var out bytes.Buffer
	encoder := json.NewEncoder(NewWriter(&out))
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got["a\u202e\x7f"] != value["a\u202e\x7f"] {
		t.Errorf("%v: %q", err, out.String())
	}
	if strings.ContainsFunc(strings.TrimSpace(out.String()), hidden) {
		t.Errorf("%q", out.String())
	}
}
