package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rs/zerolog"

	"github.com/gatefold/gatefold/server"
	"github.com/gatefold/gatefold/server/wholefile"
	"github.com/gatefold/gatefold/store/manifest"
)

// fleetsFile is the file in the state folder with the fleets that have canaries.
const fleetsFile = "fleets"

// maxFleetsFile bounds the size of fleetsFile, in bytes.
const maxFleetsFile = 4 << 20

// staging completes the settings for fleets with canaries, which get each revision first. It sets the function
// that reports frozen fleets. If a state folder is used, it also sets the function that saves fleets there, and
// loads the fleets that were saved for the same folder before the restart.
func (p *pipeline) staging(options server.Staging, kept *state) server.Staging {
	file := kept.file(fleetsFile)
	options.Problems = p.freeze
	if file == "" {
		return options
	}
	known, err := readFleets(file)
	if err != nil {
		p.log.Error().Err(err).Msg("it is not known which Envoys were canaries before the start: the first revision goes to all Envoys at once")
	}
	if known.Folder == kept.options.Root {
		options.Fleets = known.Fleets
	}
	options.Save = func(fleets []server.Fleet) { saveFleets(file, savedFleets{kept.options.Root, fleets}, p.log) }
	return options
}

// freeze stores the problems of frozen fleets: only their canaries have the newest revision, for example because a
// canary rejected it. freeze publishes again, so that the problems are reported.
func (p *pipeline) freeze(problems []manifest.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reader.frozen = problems
	p.republish()
}

// savedFleets is the content of fleetsFile.
type savedFleets struct {
	Folder string         `json:"folder"` // the absolute path of the served folder
	Fleets []server.Fleet `json:"fleets"`
}

// readFleets reads a file that saveFleets wrote. If the file does not exist, the result has no fleets. It
// returns an error if the file cannot be read or is not a valid file of gatefold.
func readFleets(file string) (saved savedFleets, err error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return saved, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFleetsFile) {
		err = fmt.Errorf("%s is not what gatefold wrote", file)
	}
	if err != nil {
		return saved, err
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		return savedFleets{}, fmt.Errorf("%s: %w", file, err)
	}
	return saved, nil
}

// saveFleets writes the fleets to a file, for the next start. If that fails, it only logs the error.
func saveFleets(file string, fleets savedFleets, log zerolog.Logger) {
	text, err := json.Marshal(fleets)
	if err == nil {
		err = wholefile.Replace(file, text, 0o600)
	}
	if err != nil {
		log.Error().Err(err).Msg("which Envoys are canaries cannot be saved: the next start would not wait for them")
	}
}
