package journal

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
)

func optionsOf(dir string) Options {
	return Options{Dir: dir, Root: "/conf", Fingerprint: fingerprint("f1")}
}

func fingerprint(text string) func() string { return func() string { return text } }

func open(t testing.TB, options Options) (*Journal, Content) {
	t.Helper()
	j, content, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j, content
}

func saved(name, text string) store.Saved {
	s := store.Saved{Key: manifest.Key{Kind: "Service", Namespace: "default", Name: name}}
	if text != "" {
		s.Path, s.Line, s.Text = name+"\xff\n.yaml", 7, []byte(text)
	}
	return s
}

// model is what a journal must hold.
type model map[manifest.Key]store.Saved

func (m model) all() []store.Saved {
	var all []store.Saved
	for _, key := range slices.SortedFunc(maps.Keys(m), manifest.CompareKeys) {
		all = append(all, m[key])
	}
	return all
}

func (m model) take(changes []store.Saved) {
	for _, s := range changes {
		m[s.Key] = s
		if s.Path == "" {
			delete(m, s.Key)
		}
	}
}

// write writes changes and takes them into the model.
func (m model) write(t *testing.T, j *Journal, changes ...store.Saved) {
	t.Helper()
	m.take(changes)
	if err := j.Write(changes, m.all); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, content Content, want []store.Saved, problem string) {
	t.Helper()
	if !reflect.DeepEqual(content.Saved, want) || !strings.Contains(content.Problem, problem) || problem == "" && content.Problem != "" {
		t.Fatalf("read %v, %q\nwant %v, %q", content.Saved, content.Problem, want, problem)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	options := optionsOf(filepath.Join(t.TempDir(), "deep", "state"))
	j, content := open(t, options)
	wantContent(t, content, nil, "")
	m := model{}
	kept := saved("kept", "a: '\u2028<&>\"'\n")
	kept.Since = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	secret := saved("secret", "x")
	secret.Text = nil
	m.write(t, j, saved("a", "1"), saved("b", "1"), kept, secret)
	m.write(t, j, saved("a", "2"), saved("b", ""), saved("never", ""))
	j.Close()
	j, content = open(t, options)
	wantContent(t, content, m.all(), "")
	if !content.Sound || len(content.Saved) != 3 {
		t.Errorf("%+v", content)
	}
	m.write(t, j, saved("c", "3"))
	j.Close()
	options.Fingerprint = fingerprint("f2")
	_, content = open(t, options)
	wantContent(t, content, m.all(), "")
	if content.Sound {
		t.Error("what another version checked counts as sound")
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, nameOfJournal: 0o600, nameOfLock: 0o600} {
		if info, err := os.Stat(filepath.Join(options.Dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestTwoDoNotShareAJournal(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	if _, _, err := Open(options); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("got %v", err)
	}
	copied, err := syscall.Dup(int(j.lock.Fd())) // as a child process has it until it runs its program
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	j.Close()
	open(t, options)
}

// TestOutdatedLinesAreLeftBehind changes two objects again and again.
func TestOutdatedLinesAreLeftBehind(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	m := model{}
	for i := range 400 {
		m.write(t, j, saved(fmt.Sprint(i%2), strings.Repeat("x", 10_000+i)))
		if j.size > 2*20_400+slack+11_000 {
			t.Fatalf("%d bytes for 20,000", j.size)
		}
	}
	j.Close()
	_, content := open(t, options)
	wantContent(t, content, m.all(), "")
}

// TestACutIsAMoment cuts a journal anywhere, as a kill or the loss of power may:
// what is read is what was saved at one of its writes.
func TestACutIsAMoment(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	m := model{}
	moments := map[int64][]store.Saved{}
	for i := range 6 {
		m.write(t, j, saved("a", fmt.Sprint("a", i)), saved(fmt.Sprint("b", i), "b"), saved(fmt.Sprint("b", i-2), ""))
		moments[j.size] = m.all()
	}
	j.Close()
	path := filepath.Join(options.Dir, nameOfJournal)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var last []store.Saved
	for cut := 1; cut <= len(text); cut++ {
		if cut%7 != 0 && moments[int64(cut)] == nil && moments[int64(cut+1)] == nil {
			continue // each cut is two writes to the disk, three times
		}
		for _, tail := range []string{"", strings.Repeat("\x00", 100), "garbage\n00000000 {}\n"} {
			if err := os.WriteFile(path, append(slices.Clone(text[:cut]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			j, content, err := Open(options)
			if err != nil {
				t.Fatal(err)
			}
			if moments[int64(cut)] != nil {
				last = moments[int64(cut)]
			}
			if last == nil {
				content.Problem = "" // of the header
			}
			wantContent(t, content, last, "")
			now := model{}
			now.take(content.Saved)
			now.write(t, j, saved("z", "z"))
			j.Close()
			j, content, err = Open(options)
			if err != nil {
				t.Fatal(err)
			}
			wantContent(t, content, now.all(), "")
			j.Close()
		}
	}
}

// TestDamageCostsWhatItHits changes bytes at random.
func TestDamageCostsWhatItHits(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	m := model{}
	var changes []store.Saved
	for i := range 50 {
		changes = append(changes, saved(fmt.Sprint(i), strings.Repeat("t", 50)))
	}
	m.write(t, j, changes...)
	m.write(t, j, saved("0", "new"))
	head, size := int64(len(fmt.Sprintf("%d", 0))+80), j.size
	j.Close()
	path := filepath.Join(options.Dir, nameOfJournal)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		damaged := slices.Clone(text)
		at := head + random.Int64N(size-head-300) // before the last commit's lines
		damaged[at] ^= byte(1 + random.IntN(255))
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		j, content, err := Open(options)
		if err != nil {
			t.Fatal(err)
		}
		if len(content.Saved) < 48 || content.Problem == "" {
			t.Fatalf("%d objects of 50 after damage at %d, %q", len(content.Saved), at, content.Problem)
		}
		for _, s := range content.Saved {
			if string(s.Text) != string(m[s.Key].Text) && s.Key.Name != "0" {
				t.Fatalf("%v", s)
			}
		}
		j.Close()
	}
}

// What is no journal of this folder is said, ignored, and replaced.
func TestOtherThingsInItsPlace(t *testing.T) {
	good := func(t *testing.T, options Options) {
		j, _ := open(t, options)
		model{}.write(t, j, saved("a", "1"))
		j.Close()
	}
	text := func(text string, mode os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
				t.Fatal(err)
			}
		}
	}
	must := func(f func(path string) error) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := f(path); err != nil {
				t.Skip(err)
			}
		}
	}
	for _, test := range []struct {
		name    string
		make    func(t *testing.T, path string)
		problem string
		stays   bool // and cannot be replaced
	}{
		{"empty", text("", 0o600), "it is none", false},
		{"garbage", text(strings.Repeat("\x00\xff\n", 1000), 0o600), "it is none", false},
		{"a long line", text(strings.Repeat("x", 70<<20), 0o600), "it is none", false},
		{"other version", text(string(crc([]byte(`{"format":2}`)))+` {"format":2}`+"\n", 0o600), "format 2, and 1 is known", false},
		{"writable by others", text("", 0o622), "other users can write it (mode 0622)", false},
		{"a FIFO", must(func(path string) error { return syscall.Mkfifo(path, 0o600) }), "no regular file", false},
		{"a link", must(func(path string) error { return os.Symlink("/etc/passwd", path) }), "symbolic links", false},
		{"a directory", must(func(path string) error { return os.Mkdir(path, 0o700) }), "directory", true},
		{"of another folder", func(t *testing.T, path string) {
			good(t, Options{Dir: filepath.Dir(path), Root: "/other", Fingerprint: fingerprint("f1")})
		}, `of the folder "/other", not of "/conf"`, false},
		{"of another user", must(func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 4711, 4711))
		}), "another user (number 4711)", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := optionsOf(t.TempDir())
			test.make(t, filepath.Join(options.Dir, nameOfJournal))
			if test.name == "of another user" && os.Geteuid() != 0 {
				t.Skip("only root makes files of others")
			}
			j, content := open(t, options)
			wantContent(t, content, nil, test.problem)
			m := model{}
			m.take([]store.Saved{saved("a", "1")})
			if err := j.Write(m.all(), m.all); (err != nil) != test.stays {
				t.Fatal(err)
			}
			j.Close()
			if !test.stays {
				_, content = open(t, options)
				wantContent(t, content, m.all(), "")
			}
		})
	}
}

// A folder that others may write, or that cannot be made, is not used.
func TestFoldersThatAreNotUsed(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Mkdir(filepath.Join(dir, "open"), 0o700),
		os.Chmod(filepath.Join(dir, "open"), 0o777), os.MkdirAll(filepath.Join(dir, "locked", nameOfLock), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"file": "not a directory", "file/below": "not a directory", "open": "mode 0777", "locked": "lock: is a directory"} {
		if _, _, err := Open(optionsOf(filepath.Join(dir, name))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// What somebody does to the files while gatefold runs is noticed at the next write.
func TestFilesThatGoWhileTheyAreUsed(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"journal removed":   func(dir string) error { return os.Remove(filepath.Join(dir, nameOfJournal)) },
		"journal truncated": func(dir string) error { return os.Truncate(filepath.Join(dir, nameOfJournal), 10) },
		"journal replaced": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, nameOfJournal)), os.WriteFile(filepath.Join(dir, nameOfJournal), []byte("x"), 0o600))
		},
		"folder removed": os.RemoveAll,
		"folder moved":   func(dir string) error { return os.Rename(dir, dir+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			options := optionsOf(filepath.Join(t.TempDir(), "state"))
			j, _ := open(t, options)
			m := model{}
			m.write(t, j, saved("a", "1"))
			if err := harm(options.Dir); err != nil {
				t.Fatal(err)
			}
			m.write(t, j, saved("b", "2"))
			if _, _, err := Open(options); !errors.Is(err, ErrInUse) {
				t.Errorf("it is not locked any more: %v", err)
			}
			j.Close()
			_, content := open(t, options)
			wantContent(t, content, m.all(), "")
		})
	}
}

func TestTextsAreBounded(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	model{}.write(t, j, saved("a", strings.Repeat("x", 600)), saved("b", strings.Repeat("x", 600)))
	j.Close()
	options.MaxBytes = 1000
	_, content := open(t, options)
	wantContent(t, content, nil, "more than 1000 bytes")
}

// What stands beside the texts may be longer than they are: it is left out where there is
// too much of it, and no object with it.
func TestWhatWasCheckedIsBounded(t *testing.T) {
	options := optionsOf(t.TempDir())
	j, _ := open(t, options)
	texts := model{}
	for _, name := range []string{"a", "b", "c"} {
		one := saved(name, "x")
		texts.take([]store.Saved{one})
		one.Checked = new(store.Checked)
		if err := one.Checked.UnmarshalJSON([]byte(`"` + strings.Repeat("x", 600) + `"`)); err != nil {
			t.Fatal(err)
		}
		for range 3 { // outdated ones do not count
			if err := j.Write([]store.Saved{one}, texts.all); err != nil {
				t.Fatal(err)
			}
		}
	}
	j.Close()
	options.MaxBytes = 1300
	_, content := open(t, options)
	with := 0
	for i := range content.Saved {
		with += min(content.Saved[i].Checked.Len(), 1)
		content.Saved[i].Checked = nil
	}
	if wantContent(t, content, texts.all(), ""); with != 2 {
		t.Errorf("%d objects stand beside their texts, want 2", with)
	}
}

// FuzzRead reads any text as a journal: nothing may crash, and what is written
// after it must be read.
func FuzzRead(f *testing.F) {
	options := optionsOf(f.TempDir())
	j, _ := open(f, options)
	for i := range 3 {
		if err := j.Write([]store.Saved{saved("a", fmt.Sprint(i)), saved(fmt.Sprint("b", i), "x"), saved(fmt.Sprint("b", i-1), "")}, func() []store.Saved { return nil }); err != nil {
			f.Fatal(err)
		}
	}
	j.Close()
	text, err := os.ReadFile(filepath.Join(options.Dir, nameOfJournal))
	if err != nil {
		f.Fatal(err)
	}
	for _, cut := range []int{0, 10, len(text) / 2, len(text) - 1, len(text)} {
		f.Add(text[:cut], false)
	}
	f.Add([]byte(`{"format":1,"root":"\"/conf\"","fingerprint":"f1"}`+"\n"+`{"key":{"kind":"A","name":"a"},"path":"\"x\"","text":"t"}`+"\n{\"commit\":1}\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, sums bool) {
		if sums { // give each line the right checksum, so that more than checksums is tried
			var lines []byte
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSuffix(line, "\n")
				lines = fmt.Appendf(lines, "%s %s\n", crc([]byte(line)), line)
			}
			text = lines
		}
		options := optionsOf(t.TempDir())
		if err := os.WriteFile(filepath.Join(options.Dir, nameOfJournal), text, 0o600); err != nil {
			t.Fatal(err)
		}
		j, content := open(t, options)
		m := model{}
		m.take(content.Saved)
		m.write(t, j, saved("z", "z"))
		j.Close()
		j, content = open(t, options)
		wantContent(t, content, m.all(), "")
		j.Close()
	})
}
