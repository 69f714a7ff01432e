package server

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/cardrun/viewer"
)

// The extension MCP Apps, version 2026-01-26 (SEP-1865).
const (
	uiExtension = "io.modelcontextprotocol/ui"
	uiMIME      = "text/html;profile=mcp-app"
	// pageURI is the page that the tool names: it hears from its host what card to show.
	pageURI = "ui://cardrun/card"
	// bakedPrefix and a card's ID are the page with that card inside, which its result names (D25).
	bakedPrefix = "ui://generated/"
)

var (
	//go:embed mcp/app.html
	pageHTML string
	//go:embed mcp/host.js
	hostScript string
	//go:embed mcp/app.js
	appScript string
)

// addPages serves the page, bare and with a card inside.
func (m *MCP) addPages() {
	what := "Shows a card that generated_ui_show accepted, and passes on what its reader does."
	m.server.AddResource(&mcp.Resource{
		URI: pageURI, Name: "card", Title: "Interactive card", Description: what, MIMEType: uiMIME, Meta: pageMeta(),
	}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return pageResult(pageURI, page(m.o.Version, nil)), nil
	})
	m.server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: bakedPrefix + "{+id}", Name: "shown-card", Title: "A card that was shown", MIMEType: uiMIME, Meta: pageMeta(),
		Description: "The page with one of the cards inside that were shown last, by the id of the card.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		text, ok := m.shown.get(strings.TrimPrefix(uri, bakedPrefix))
		if !ok {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return pageResult(uri, page(m.o.Version, text)), nil
	})
}

// pageMeta declares what the page needs of its host: nothing of any other origin, and no permission.
func pageMeta() mcp.Meta {
	none := []string{}
	return mcp.Meta{"ui": map[string]any{
		"csp":           map[string]any{"connectDomains": none, "resourceDomains": none, "frameDomains": none, "baseUriDomains": none},
		"prefersBorder": true,
	}}
}

func pageResult(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: uiMIME, Text: text, Meta: pageMeta()}}}
}

// page is the page as one text that loads nothing. Its own policy, beside that of its host, lets run the one script that is
// in it, by its digest, and nothing that a card could bring.
func page(version string, baked []byte) string {
	// In a block of their own, so that a name of theirs may be one of the module's too.
	own := strings.Join([]string{"{", hostScript, strings.ReplaceAll(appScript, "{{version}}", scriptSafe(version)), "}"}, "\n")
	script := viewer.FrameModule() + "\n" + own
	sum := sha256.Sum256([]byte(script))
	policy := "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types cardrun"
	if baked == nil {
		baked = []byte("null")
	}
	// In JSON, < is only in strings, where it may be written so that no tag can begin.
	data := strings.ReplaceAll(string(baked), "<", `\u003c`)
	return strings.NewReplacer("{{policy}}", policy, "{{baked}}", data, "{{script}}", script).Replace(pageHTML)
}

// scriptSafe keeps of a version what may stand in a string of a script.
func scriptSafe(version string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune(".+-_ ", r) {
			return r
		}
		return -1
	}, version)
}
