package lsp

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server/engine"
	"github.com/gatefold/gatefold/watcher"
)

// The debounce of changes. A folder is validated when nothing has changed for the duration quiet. While changes
// continue, the folder is validated after the duration longest.
const (
	quiet   = 40 * time.Millisecond
	longest = 250 * time.Millisecond
)

// project is one folder of the workspace. It validates the files on disk together with the open documents.
type project struct {
	folder  engine.Folder
	root    string // the path that the editor uses
	real    string // without symbolic links
	open    *documents
	publish func(publishParams)
	failed  func(error)

	changed chan struct{} // has a buffer of one
	ended   context.CancelFunc
	over    sync.WaitGroup

	diskMu sync.Mutex
	disk   *watcher.Tree // nil until the folder was read

	mu    sync.Mutex // guards the fields below
	live  *engine.Live
	tree  watcher.Tree // the Tree that live has read last
	shown *shown
}

// newProject returns a project that watches and validates a folder, until ctx ends or the method end is called.
func newProject(ctx context.Context, root string, s *server) *project {
	folder := s.options.Folder(root)
	p := &project{
		folder: folder, root: root, real: root, open: s.documents, publish: s.publish, failed: s.failed,
		changed: make(chan struct{}, 1), live: engine.NewLive(folder),
	}
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		p.real = resolved
	}
	p.shown = newShown(p.uri)
	ctx, p.ended = context.WithCancel(ctx)
	p.over.Go(func() { p.watch(ctx) })
	p.over.Go(func() { p.follow(ctx) })
	return p
}

// end stops watching the folder, and removes its diagnostics from the editor.
func (p *project) end() {
	p.ended()
	p.over.Wait()
	for _, cleared := range p.shown.update(nil, nil, nil) {
		p.publish(cleared)
	}
}

// watch stores the content of the folder on disk after each change, and requests a validation, until ctx ends.
// If the folder cannot be watched, watch shows an error in the editor.
func (p *project) watch(ctx context.Context) {
	err := watcher.Watch(ctx, p.folder.Watch, zerolog.Nop(), func(tree watcher.Tree) {
		p.diskMu.Lock()
		p.disk = &tree
		p.diskMu.Unlock()
		p.touch()
	})
	if err != nil {
		p.failed(err)
	}
}

// touch requests a validation of the folder.
func (p *project) touch() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// follow validates the folder after each change, until ctx ends.
func (p *project) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
		}
		p.debounce(ctx)
		p.diskMu.Lock()
		disk := p.disk
		p.diskMu.Unlock()
		if disk != nil && ctx.Err() == nil {
			p.validate(ctx, *disk)
		}
	}
}

// debounce waits until nothing has changed for the duration quiet, but not longer than the duration longest. It
// returns earlier if ctx ends.
func (p *project) debounce(ctx context.Context) {
	end := time.After(longest)
	for {
		select {
		case <-p.changed:
		case <-time.After(quiet):
			return
		case <-end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// validate validates the folder. For each file whose diagnostics have changed, it sends the new ones to the editor.
// If validation fails or gatefold panics, it shows an error in the editor. The parameter disk is the content of the
// folder on disk.
func (p *project) validate(ctx context.Context, disk watcher.Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if mistake := recover(); mistake != nil {
			p.failed(mistakeError(mistake))
		}
	}()
	open := p.documents()
	tree := overlay(disk, open, p.folder.Watch.Limits.FileBytes, func(name string) bool { return watcher.Reads(p.folder.Watch, name) })
	problems, err := p.live.Read(ctx, tree)
	if err != nil {
		if ctx.Err() == nil {
			p.failed(err)
		}
		return
	}
	p.tree = tree
	for _, changed := range p.shown.update(problems, open, func(name string) *text {
		file, _ := tree.Files.Get(name)
		return newText(file.Content, p.open.units)
	}) {
		p.publish(changed)
	}
}

// documents returns the open documents in the folder, by their path in the folder.
func (p *project) documents() map[string]*document {
	open := map[string]*document{}
	for path, doc := range p.open.all() {
		if name, ok := p.name(path); ok {
			open[name] = doc
		}
	}
	return open
}

// name returns the path of a file relative to the folder. ok is false if the file is outside of the folder.
func (p *project) name(path string) (name string, ok bool) {
	if name, ok = below(p.root, path); ok {
		return name, true
	}
	return below(p.real, path)
}

// uri returns the URI of a file in the folder. The parameter name is the file's path relative to the folder.
func (p *project) uri(name string) string {
	return uriOf(filepath.Join(p.root, filepath.FromSlash(name)))
}
