package server

import (
	"fmt"
	"net/http"

	"example.com/cardrun/examples"
	"example.com/cardrun/viewer"
)

// Playground is the viewer's page at / and all that it loads, with the patterns of an http.ServeMux that it is to be served at,
// beside the calls below /v1. They are for anybody: there is no secret in them, and the page asks for a token where the service
// wants one. The answers of the handler have policies and entity tags of their own.
func Playground() (pages http.Handler, patterns []string, err error) {
	set, err := viewer.Pages(examples.Files)
	if err != nil {
		return nil, nil, fmt.Errorf("make playground: %w", err)
	}
	for _, path := range set.Paths() {
		if path == "/" {
			path = "/{$}"
		}
		patterns = append(patterns, "GET "+path)
	}
	return set, patterns, nil
}
