package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the command: 0 when it did what was asked, 1 when answers differ that nothing explains, 2 for a bad call.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(stderr)
	serving := f.String("serve", "", "be a peer process of ours: `"+ownWhole+"` or "+ownScript)
	bin := f.String("bin", ".tools/peers", "the `folder` with the peers, as make bench-peers builds it")
	top := f.String("top", ".", "the top of the repository")
	only := f.String("only", "", "`sections` to run, with commas: latency, kernels, cards, memory, budgets; of -growth: workers, document, patches, queue, sessions-memory")
	among := f.String("peers", "", "`names` of the peers to run, with commas; all of them if nothing is said")
	runs := f.Int("runs", 7, "how many times each is measured, in turn")
	ms := f.Int("ms", 40, "how long one figure of a card is sampled, in milliseconds")
	keep := f.String("json", "", "`file` that results are kept in; sections that are not run are taken from it")
	differ := f.Bool("differ", false, "hold the answers of quickjs-emscripten against ours instead")
	grow := f.String("growth", "", "draw the growth of cost into this `folder` instead")
	if err := f.Parse(args); err != nil {
		return 2
	}
	refuse := func(err error) int {
		fmt.Fprintln(stderr, "peers:", err)
		return 2
	}
	if f.NArg() > 0 {
		return refuse(fmt.Errorf("no arguments are taken, but %q was given; see -help", f.Arg(0)))
	}
	if *serving != "" {
		if err := serve(*serving, stdin, stdout); err != nil {
			return refuse(err)
		}
		return 0
	}
	wanted := func(section string) bool { return *only == "" || listed(*only, section) }
	if *grow != "" {
		if err := growth(*grow, wanted, stderr); err != nil {
			return refuse(err)
		}
		return 0
	}
	for one := range strings.SplitSeq(*only, ",") {
		if one = strings.TrimSpace(one); *only != "" && one != "budgets" && !slices.ContainsFunc(sections, func(s section) bool { return s.name == one }) {
			return refuse(fmt.Errorf("-only: no section is named %q; there are latency, kernels, cards, memory and budgets", one))
		}
	}
	if *runs < 1 || *ms < 1 {
		return refuse(errors.New("-runs and -ms: 1 or more"))
	}
	b := &bench{runs: *runs, ms: *ms, workers: runtime.GOMAXPROCS(0), log: stderr, res: &results{}}
	if *keep != "" {
		if err := b.res.load(*keep); err != nil {
			return refuse(err)
		}
	}
	b.res.fill()
	for _, p := range known(*bin) {
		if *among != "" && !listed(*among, p.Name) && p.Name != ownScript {
			continue
		}
		r, err := p.ask(request{Op: "hello"}, patience)
		p.stop()
		if err != nil {
			fmt.Fprintf(stderr, "without %s: %v\n", p.Name, err)
			continue
		}
		b.res.Versions[p.Name] = r.Version
		b.peers = append(b.peers, p)
	}
	if *differ {
		n, err := b.differ(filepath.Join(*top, "examples"), filepath.Join(*top, "conformance", "cases"), stdout)
		if err != nil {
			return refuse(err)
		}
		return min(n, 1)
	}
	own := b.find(ownScript)
	if own == nil {
		return refuse(errors.New("cardrun itself could not be started"))
	}
	var err error
	if b.cards, err = subjects(*top, func(r request) (reply, error) { return own.ask(r, patience) }); err != nil {
		return refuse(err)
	}
	own.stop()
	b.measure(wanted)
	if *keep != "" {
		if err := b.res.save(*keep); err != nil {
			return refuse(err)
		}
	}
	b.res.print(stdout, known(*bin))
	return 0
}

func listed(list, name string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(one) == name {
			return true
		}
	}
	return false
}

// known are all peers, ours first.
func known(bin string) []*peer {
	self := executable()
	all := []*peer{
		{Name: ownWhole, Command: []string{self, "-serve", ownWhole}, Idle: 4000},
		{Name: ownScript, Command: []string{self, "-serve", ownScript}, Idle: 4000},
	}
	for _, name := range []string{emscripten, stock, "goja", "modernc", "jsdom", "happy-dom"} {
		p := &peer{Name: name, Idle: 400}
		switch name {
		case emscripten, "jsdom", "happy-dom":
			p.Command, p.Dir = []string{"node", "--expose-gc", "peer.mjs", name}, bin
		default:
			path, err := filepath.Abs(filepath.Join(bin, "engines"))
			if err != nil {
				path = filepath.Join(bin, "engines")
			}
			p.Command = []string{path, name}
		}
		switch name {
		case "goja":
			p.Idle = 2000
		case "jsdom", stock:
			p.Idle = 60
		}
		all = append(all, p)
	}
	return all
}

func (b *bench) find(name string) *peer {
	for _, p := range b.peers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (res *results) fill() {
	if res.Versions == nil {
		res.Versions = map[string]string{}
	}
	if res.Values == nil {
		res.Values = map[string]map[string][]float64{}
	}
	res.Machine = fmt.Sprintf("%s, %d cores, %s/%s, %s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, time.Now().Format("2006-01-02"))
}

// processor is the name that Linux has for the processor.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func (res *results) load(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, res); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

func (res *results) save(file string) error {
	data, err := json.MarshalIndent(res, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
