package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"example.com/cardrun/server"
)

func Example() {
	s, err := server.New(server.Options{Local: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l) }()
	if err := s.Start(ctx); err != nil { // until then it answers that it is not ready
		fmt.Println(err)
	}

	card := `{"title": "Sum", "summary": "1 + 2 is 3.", "html": "<p id=\"sum\"></p>", "css": "", "javascript": "ui.text('sum', 1 + 2 + '')"}`
	res, err := http.Post("http://"+l.Addr().String()+"/v1/render", "application/json", strings.NewReader(card))
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	_, display, _ := strings.Cut(string(body), `"display":`)
	display, _, _ = strings.Cut(display, `,"controls"`)
	fmt.Println(res.StatusCode, display)

	stop()
	fmt.Println(<-served)
	// Output:
	// 200 {"html":"<p id=\"sum\">3</p>","css":"","text":"3"}
	// <nil>
}
