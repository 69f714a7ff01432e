package sanitize

import "strings"

// A fate says what becomes of an element outside the whitelist.
type fate struct {
	// reject: a card that shows it is rejected (D6), since R29 names it or its evident kin.
	reject bool
	// content: what is below it goes with it. Otherwise the element loses its tags only and its children stay.
	content bool
	// why says what is wrong with it and what to write instead.
	why string
}

// words splits a table's row into its names.
func words(s string) []string { return strings.Fields(s) }

// htmlElements is the whitelist of elements in the HTML namespace (D4).
var htmlElements = set(`
	h1 h2 h3 h4 h5 h6 p div span section article header footer main aside figure figcaption br hr wbr
	strong b em i u s small sub sup mark code pre kbd samp var abbr dfn cite q blockquote time del ins
	ul ol li dl dt dd
	table caption colgroup col thead tbody tfoot tr th td
	label fieldset legend input select optgroup option textarea button output progress meter details summary`)

// svgElements is the whitelist of elements in the SVG namespace (D7).
var svgElements = set(`svg g path rect circle ellipse line polyline polygon text tspan title desc`)

// otherHTML says what becomes of HTML elements outside htmlElements. Any element that is not here is unknown but
// harmless: it loses its tags, its children stay, and a card gets a warning (D6).
var otherHTML = fates(
	// What runs script.
	row("script", true, true, "scripts are not allowed in html; put code in javascript"),
	// What styles; title, base and meta are of the page, and a base or a refresh navigates.
	row("style", true, true, "styling is not allowed in html; put it in css"),
	row("link meta base basefont", true, false, "external resources and page settings are not allowed; put styling in css"),
	row("title", true, true, "html is body content, not a page; put the title in the title field"),
	// What makes a page of body content (R20).
	row("html head body", true, false, "html is body content, not a page; leave the tag out"),
	row("frame frameset", true, true, "frames are not allowed; write the content itself"),
	// What links or sends.
	row("a area", true, false, "links are not allowed; write plain text"),
	row("form isindex", true, false, "forms are not allowed; use inputs with ui.on in a div or section"),
	// What loads or embeds.
	row("iframe portal fencedframe", true, true, "embedded pages are not allowed; write the content itself"),
	row("object applet", true, true, "embedded objects are not allowed; draw with inline svg"),
	row("embed bgsound", true, false, "embedded objects are not allowed; draw with inline svg"),
	row("img image", true, false, "images are not allowed; draw with inline svg"),
	row("picture audio video", true, true, "external media are not allowed; draw with inline svg"),
	row("source track", true, false, "external media are not allowed; draw with inline svg"),
	// What holds text that a parser reads in another mode, or that no browser shows: gone with its content.
	row("noscript noembed noframes xmp plaintext template datalist", false, true, "this element is not supported and was left out with its content; use plain elements"),
	row("math", false, true, "MathML is not supported and was left out; write the formula as text, with sub and sup"),
	row("param keygen command", false, false, "this element is not supported; leave it out"),
)

// otherSVG says what becomes of SVG elements outside svgElements. Any that is not here is left out with its content,
// with a warning: a shape that made sense only inside an unknown element would be drawn where nobody meant it.
var otherSVG = fates(
	row("script", true, true, "scripts are not allowed in svg; put code in javascript"),
	row("style", true, true, "styling is not allowed in svg; put it in css, or use attributes such as fill and stroke"),
	row("a", true, true, "links are not allowed; use text or shapes without them"),
	row("image feImage video audio iframe", true, true, "images are not allowed; draw with basic shapes"),
	row("use", true, true, "references are not allowed; repeat the shape itself"),
	row("foreignObject", true, true, "embedded content is not allowed in svg; use svg text, or place html outside the svg"),
)

// unknownHTML and unknownSVG are the fates of what is in no table.
var (
	unknownHTML = fate{why: "this element is not supported; its content was kept without it"}
	unknownSVG  = fate{content: true, why: "this svg element is not supported and was left out with its content; use " +
		"svg g path rect circle ellipse line polyline polygon text tspan title desc"}
)

func set(names string) map[string]bool {
	m := make(map[string]bool)
	for _, name := range words(names) {
		m[name] = true
	}
	return m
}

type fateRow struct {
	names string
	fate  fate
}

func row(names string, reject, content bool, why string) fateRow {
	return fateRow{names, fate{reject, content, why}}
}

func fates(rows ...fateRow) map[string]fate {
	m := make(map[string]fate)
	for _, r := range rows {
		for _, name := range words(r.names) {
			m[name] = r.fate
		}
	}
	return m
}

// A room is what an element's content may be, where that is less than what its namespace's list gives. Rooms keep out the
// few nestings that parsers of different years read differently (a div in a select, markup in an option), so that the
// text means the same in every browser.
type room uint8

const (
	roomFlow     room = iota // any listed HTML element, and svg
	roomSVG                  // any listed SVG element, and text
	roomText                 // text only: option, textarea, SVG title and desc
	roomSelect               // option, optgroup, hr, and white space
	roomOptgroup             // option, and white space
	roomVoid                 // nothing
)

// roomOf gives the room inside an element of the whitelist.
func roomOf(tag string, svg bool) room {
	if svg {
		if tag == "title" || tag == "desc" {
			return roomText
		}
		return roomSVG
	}
	switch tag {
	case "select":
		return roomSelect
	case "optgroup":
		return roomOptgroup
	case "option", "textarea":
		return roomText
	}
	if isVoid(tag) {
		return roomVoid
	}
	return roomFlow
}

// admits reports whether an element may stand in the room.
func (r room) admits(tag string, svg bool) bool {
	switch r {
	case roomFlow:
		return !svg || tag == "svg"
	case roomSVG:
		return svg
	case roomSelect:
		return !svg && (tag == "option" || tag == "optgroup" || tag == "hr")
	case roomOptgroup:
		return !svg && tag == "option"
	}
	return false
}

// holds reports whether a text may stand in the room. Browsers show none directly in a select.
func (r room) holds(text string) bool {
	switch r {
	case roomVoid:
		return false
	case roomSelect, roomOptgroup:
		return strings.Trim(text, " \t\n\f") == ""
	}
	return true
}
