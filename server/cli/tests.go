package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gatefold/gatefold/store"
	"github.com/gatefold/gatefold/store/manifest"
	"github.com/gatefold/gatefold/translate/expect"
	"github.com/gatefold/gatefold/translate/explain"
	"github.com/gatefold/gatefold/watcher"
)

// testOptions are the flags of test.
type testOptions struct {
	folder        folderOptions
	format        outputFormat
	failOnUnknown bool
	minCoverage   percentage
	coverage      bool
	against       []string
	timeout       time.Duration
}

func testCommand() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Compare what happens to requests with what files of tests expect",
		Long: "Compare what happens to requests with what the folder's files of tests expect: those named requests, or with a\n" +
			"name that ends with .requests. A line of them is a request and what must happen to it:\n\n" +
			"  GET http://shop.example.com:8080/cart x-env:prod -> shop/cart | request x-env: -\n" +
			"  GET http://shop.example.com:8080/admin FROM:192.0.2.7 -> 403 | by TrafficPolicy edge/acl\n\n" +
			"The answers are those of gatefold explain: nothing is sent. What depends on more than the folder, such as the\n" +
			"answer of an external service, is reported as unknown, and never as passed.\n" +
			"With --against the lines are sent to a running Envoy instead, and what a client sees is compared: status, location,\n" +
			"response headers and certificate. Which backend answers, and what it receives, is known only from the echo\n" +
			"backend of the examples; all else is unknown. Certificates of the Envoy are not verified.\n" +
			"The exit code is 1 when a line fails or cannot be read, or when the coverage is too low.\n" +
			"docs/reference/tests.md describes the lines, docs/json.md the JSON.",
		Example: "  gatefold test ./folder\n" +
			"  gatefold test ./folder --fail-on-unknown --min-coverage 80\n" +
			"  gatefold test -o github .\n" +
			"  gatefold test ./folder --against http://127.0.0.1:8080 --against 8443=127.0.0.1:18443",
		Args: func(cmd *cobra.Command, args []string) error {
			// min-coverage as a setting is for runs without --against.
			if len(o.against) > 0 && (cmd.Flags().Changed("min-coverage") || o.coverage) {
				return errors.New("--against shows no rules: leave out --coverage and --min-coverage")
			}
			return exactly("the folder")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := o.run(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := o.print(cmd.OutOrStdout(), run); err != nil {
				return err
			}
			if errors := len(run.report.FolderErrors); errors > 0 && o.format == formatText {
				fmt.Fprintln(cmd.ErrOrStderr(), folderErrorWords(errors))
			}
			if o.fails(run.report) {
				return errFindings
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.failOnUnknown, "fail-on-unknown", false, "let a line that cannot be judged give exit code 1, too")
	flags.Var(&o.minCoverage, "min-coverage", "exit with 1 when lines reach less than this percentage of the rules")
	flags.VisitAll(markSetting)
	flags.BoolVar(&o.coverage, "coverage", false, "list the rules that no line reaches")
	flags.StringArrayVar(&o.against, "against", nil, "send the lines to this Envoy: a URL for the lines of its scheme, an address for all, or PORT=ADDRESS for those of a port; without a port in it, that of the line; may be repeated, and the first that fits counts")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "how long to wait for each answer of --against")
	o.folder.register(flags)
	o.format.register(flags, formatText, formatJSON, formatYAML, formatJUnit, formatGitHub)
	return cmd
}

// testRun is the report of a test run, and the number of test files.
type testRun struct {
	report *expect.Report
	files  int // number of test files
}

// run reads the folder and runs its tests. With --against, it sends the requests of the tests to an Envoy
// instead. It returns an error if a flag is invalid, or if the folder or its tests cannot be read.
func (o *testOptions) run(ctx context.Context, dir string) (testRun, error) {
	prefix := o.place()(dir)
	tests, err := o.readTests(ctx, dir, prefix)
	if err != nil {
		return testRun{}, err
	}
	read, err := readFolder(ctx, dir, o.folder)
	if err != nil {
		return testRun{}, err
	}
	if len(o.against) > 0 {
		report, err := o.sendAll(ctx, tests.requests, expect.NewObserver(read.Result.View()))
		if err != nil {
			return testRun{}, err
		}
		report.Problems = tests.problems
		return testRun{report: report, files: tests.files}, nil
	}
	places := func(fields []manifest.Field) []store.Place {
		all := read.Places(fields)
		for i := range all {
			if all[i].File != "" {
				all[i].File = path.Join(prefix, all[i].File)
			}
		}
		return all
	}
	run := testRun{files: tests.files}
	run.report = expect.Run(explain.Facts{
		View: read.Result.View(), Problems: read.Problems, Statuses: read.Result.Status,
		Places: places, Outlines: read.Outlines, Labels: read.Labels,
	}, tests.requests, netip.Addr{})
	for _, p := range read.Problems {
		if p.Severity == manifest.Error {
			if p.File != "" && p.File != dir {
				p.File = path.Join(prefix, p.File)
			}
			run.report.FolderErrors = append(run.report.FolderErrors, p)
		}
	}
	run.report.Problems = append(tests.problems, run.report.Problems...)
	manifest.SortProblems(run.report.Problems)
	return run, nil
}

// place returns the function that gives the displayed path of a folder: repositoryPrefix for the format github,
// and otherwise pathPrefix.
func (o *testOptions) place() func(string) string {
	if o.format == formatGitHub {
		return repositoryPrefix
	}
	return pathPrefix
}

// testFiles has the requests and problems of all test files, and the number of files.
type testFiles struct {
	files    int
	requests []expect.Request
	problems []manifest.Problem
}

// readTests reads the test files of a folder. The parameter prefix is prepended to displayed paths. readTests
// returns an error if a flag is invalid, or if the folder cannot be read or has no tests.
func (o *testOptions) readTests(ctx context.Context, dir, prefix string) (all testFiles, err error) {
	folder, err := o.folder.folder(dir)
	if err != nil {
		return all, err
	}
	folder.Watch.Takes = func(name string) bool { return expect.IsFile(path.Base(name)) }
	tree, err := watcher.Read(ctx, folder.Watch)
	if err != nil {
		return all, err
	}
	for _, skipped := range tree.Skipped {
		if skipped.Reason == watcher.ReadElsewhere {
			continue
		}
		all.problems = append(all.problems, manifest.Problem{
			Code: string(skipped.Reason), Severity: manifest.Error, File: path.Join(prefix, skipped.Path),
			Message: "the file is not read: " + skipped.Detail,
		})
	}
	for file := range tree.Files.All() {
		requests, problems := expect.Parse(path.Join(prefix, file.Path), file.Content)
		all.requests, all.problems = append(all.requests, requests...), append(all.problems, problems...)
		all.files++
	}
	if len(all.requests)+len(all.problems) == 0 {
		return all, fmt.Errorf("no tests in %s: write lines such as 'GET http://shop.example.com:8080/ -> shop' into a file named %s beside the YAML", dir, expect.Name)
	}
	return all, nil
}

// fails reports whether the command exits with 1: a line failed or cannot be read, a line is unknown and
// --fail-on-unknown is set, or the coverage is too low.
func (o *testOptions) fails(r *expect.Report) bool {
	return r.Failed > 0 || len(r.Problems) > 0 || o.failOnUnknown && r.Unknown > 0 || o.tooLow(r)
}

// tooLow reports whether the coverage is lower than --min-coverage. It returns false for a report without
// coverage.
func (o *testOptions) tooLow(r *expect.Report) bool {
	return r.Coverage != nil && r.Coverage.Percent < float64(o.minCoverage)
}

// percentage is the value of a flag: a number from 0 to 100.
type percentage float64

// percentageType is the name of the type percentage in the help.
const percentageType = "percentage"

// String implements pflag.Value. It returns "" for 0, so that the help shows no default.
func (p *percentage) String() string {
	if *p == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*p), 'g', -1, 64)
}

// Set implements pflag.Value. It accepts a percent sign after the number.
func (p *percentage) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 100 {
		return errors.New("must be a percentage: a number from 0 to 100, such as 80")
	}
	*p = percentage(n)
	return nil
}

// Type implements pflag.Value.
func (p *percentage) Type() string { return percentageType }
