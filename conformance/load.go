package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFile is the most bytes of a case file: a card in the longest spelling that is looked at, a raw body as long, and the
// steps.
const maxFile = 4 << 20

// Load reads the cases in files, and in all *.json files in and below folders, in the order given and by name within a
// folder. A path may be a link to a folder; links to folders within one are not followed. It reads on after an error: cases are all that could be read, and err joins what was wrong with the others,
// each naming its file.
func Load(paths ...string) (cases []Case, err error) {
	var errs []error
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			c, err := read(file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			cases = append(cases, c)
		}
	}
	return cases, errors.Join(errs...)
}

// expand gives the files that a path stands for; a folder without any is an error, since nothing would be checked.
func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	// WalkDir does not follow a link, not even at its root. The files are named as the caller named the folder.
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	var files []string
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || !strings.EqualFold(filepath.Ext(file), ".json") {
			return nil
		}
		below, err := filepath.Rel(root, file)
		files = append(files, filepath.Join(path, below))
		return err
	})
	if err != nil {
		return files, fmt.Errorf("read cases: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read cases: no *.json file in %s", path)
	}
	return files, nil
}

func read(file string) (Case, error) {
	f, err := os.Open(file)
	if err != nil {
		return Case{}, fmt.Errorf("read case: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Case{}, fmt.Errorf("read case %s: %w", file, err)
	}
	if len(data) > maxFile {
		return Case{}, fmt.Errorf("read case %s: more than %d bytes; split the case", file, maxFile)
	}
	c, err := Parse(file, data)
	if err == nil && c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return c, err
}
