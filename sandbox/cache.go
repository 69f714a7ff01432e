package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

// openCache opens the directory for compiled code, making it when it is not there. Code that is loaded from it runs with
// all rights of this process, so it must be a directory, no link, that belongs to the user and that nobody else may
// write to or read.
func openCache(dir string) (wazero.CompilationCache, error) {
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find the cache directory: %w", err)
		}
		dir = filepath.Join(user, "cardrun")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the cache directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("make the cache directory: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the cache directory: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("cache directory %s: not a directory (links are not followed)", dir)
	}
	if err := private(dir, info); err != nil {
		return nil, fmt.Errorf("cache directory %s: %w", dir, err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache directory: %w", err)
	}
	return cache, nil
}
