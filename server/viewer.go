package server

import (
	"fmt"
	"net/http"

	"example.com/cardrun"
	"example.com/cardrun/examples"
	"example.com/cardrun/viewer"
)

// PlaygroundMounts are the viewer's page at / and all that it loads, beside the calls below /v1. They are for anybody: there is no
// secret in them, and the page asks for a token where the service wants one. Their answers have policies and entity tags of
// their own.
func PlaygroundMounts() ([]Mount, error) {
	set, err := viewer.Pages(examples.Files)
	if err != nil {
		return nil, fmt.Errorf("make playground: %w", err)
	}
	var mounts []Mount
	for _, path := range set.Paths() {
		if path == "/" {
			path = "/{$}"
		}
		mounts = append(mounts, Mount{
			Pattern: "GET " + path, Public: true,
			Handler: func(*Server, *cardrun.Runtime) http.Handler { return set },
		})
	}
	return mounts, nil
}
