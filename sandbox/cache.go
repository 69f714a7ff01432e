package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// codeCache is the directory for compiled code, or the part of it that is for one module. Beside each file of machine code
// stands one with its checksum, since what the runtime itself checks is not all of it: a function's address or a count that
// a failing disk has changed would end the process, or take all of its memory.
type codeCache struct {
	wazero.CompilationCache
	dir string
}

// errUnfit says that a directory must not be used; others are errors of using it.
var errUnfit = errors.New("it is not fit for compiled code")

// userCache is the default directory for compiled code.
func userCache() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w", err)
	}
	return filepath.Join(user, "cardrun"), nil
}

// openCache opens the directory for compiled code, making it when it is not there. Code that is loaded from it runs with
// all rights of this process, so it must be a directory, no link, that belongs to the user and that nobody else may
// write to or read: else the error is errUnfit, wrapped. What is damaged in it is removed.
func openCache(dir string, module [sha256.Size]byte) (*codeCache, error) {
	dir, err := cacheDirectory(dir)
	if err != nil {
		return nil, err
	}
	c := &codeCache{dir: filepath.Join(dir, "engine-"+hex.EncodeToString(module[:8]))}
	if c.CompilationCache, err = wazero.NewCompilationCacheWithDir(c.dir); err != nil {
		return nil, fmt.Errorf("open the cache directory: %w", err)
	}
	if err := c.walk(c.vet); err != nil {
		_ = c.Close(context.Background())
		return nil, fmt.Errorf("check the cache directory: %w", err)
	}
	return c, nil
}

// cacheDirectory makes and judges the directory.
func cacheDirectory(dir string) (string, error) {
	if dir == "" {
		var err error
		if dir, err = userCache(); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("make the cache directory: %w: %w", errUnfit, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("make the cache directory: %w: %w", errUnfit, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("look at the cache directory: %w: %w", errUnfit, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("cache directory %s: %w: not a directory (links are not followed)", dir, errUnfit)
	}
	if err := private(dir, info); err != nil {
		return "", fmt.Errorf("cache directory %s: %w: %w", dir, errUnfit, err)
	}
	return dir, nil
}

const (
	sumSuffix  = ".sha256"
	tempSuffix = ".tmp" // of files that are being written, the runtime's own too
	tempAge    = time.Hour
	// maxCode is far more than the machine code of the engine takes, so that a file that grew is not read.
	maxCode = 256 << 20
)

// walk shows every file of machine code below the directory to f.
func (c *codeCache) walk(f func(path string, info fs.FileInfo) error) error {
	return filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // another process is at it
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() && path != c.dir && filepath.Dir(path) != c.dir { // the runtime makes no folder there
			return cmp.Or(remove(path), fs.SkipDir)
		}
		if d.IsDir() || strings.HasSuffix(path, sumSuffix) {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return f(path, info)
	})
}

// vet removes a file that has not the content which was sealed, and what processes that were killed have left.
func (c *codeCache) vet(path string, info fs.FileInfo) error {
	if strings.HasSuffix(path, tempSuffix) && info.Mode().IsRegular() {
		if time.Since(info.ModTime()) > tempAge {
			return remove(path)
		}
		return nil
	}
	if sum, err := checksum(path, info); err == nil {
		if sealed, err := os.ReadFile(path + sumSuffix); err == nil && string(sealed) == sum {
			return nil
		}
	}
	return remove(path)
}

// seal writes the checksum of what the runtime has just written. A process that comes in between finds a file without one, and
// compiles anew.
func (c *codeCache) seal() error {
	return c.walk(func(path string, info fs.FileInfo) error {
		if _, err := os.Lstat(path + sumSuffix); err == nil || strings.HasSuffix(path, tempSuffix) {
			return nil
		}
		sum, err := checksum(path, info)
		if err != nil {
			return fmt.Errorf("seal compiled code: %w", err)
		}
		return writeWhole(path+sumSuffix, sum)
	})
}

// checksum is the SHA-256 of a file, in hex.
func checksum(path string, info fs.FileInfo) (string, error) {
	if !info.Mode().IsRegular() || info.Size() > maxCode {
		return "", fmt.Errorf("%s: it is no file of compiled code", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxCode)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// writeWhole writes a small file so that it is there whole or not at all.
func writeWhole(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "*"+tempSuffix)
	if err != nil {
		return fmt.Errorf("seal compiled code: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("seal compiled code: %w", err)
	}
	return nil
}

// remove takes a file, or an empty folder, and its seal away.
func remove(path string) error {
	_ = os.Remove(path + sumSuffix)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is damaged: %w", err)
	}
	return nil
}
