package sanitize

import "strings"

// forbiddenFunctions are the CSS functions that can load a resource, refer to one, or run something (R40, D28), without
// vendor prefix and in lower case. The function filter() takes an image; the property filter and its functions are others.
var forbiddenFunctions = set(`url src image image-set image-rect cross-fade element paint filter expression url-prefix
	domain document regexp canvas alphaimageloader`)

// forbiddenFunction reports whether a function's name, escapes resolved, is one of forbiddenFunctions with or without a
// vendor prefix. Letters compare as ASCII only.
func forbiddenFunction(name string) bool { return forbiddenFunctions[bare(name)] }

// bare lowers a name and takes a vendor prefix such as -webkit- away.
func bare(name string) string {
	name = asciiLower(name)
	if len(name) > 2 && name[0] == '-' && name[1] != '-' {
		if _, rest, found := strings.Cut(name[1:], "-"); found {
			return rest
		}
	}
	return name
}

// forbiddenAtRules reject a card (R40, D28), with or without a vendor prefix.
var forbiddenAtRules = set("import font-face namespace charset document")

// What an at-rule that is allowed holds (D28).
type atBlock uint8

const (
	atUnknown   atBlock = iota // not allowed: left out with a warning
	atCondition                // rules, and inside a rule declarations too
	atLayer                    // the same, or nothing: a statement
	atKeyframes                // frames
)

// allowedAtRules are the at-rules that are understood (D28).
var allowedAtRules = map[string]atBlock{
	"media": atCondition, "supports": atCondition, "container": atCondition,
	"layer":     atLayer,
	"keyframes": atKeyframes, "-webkit-keyframes": atKeyframes,
}

// forbiddenProperties bind code to elements (D28), with or without a vendor prefix.
var forbiddenProperties = set("behavior behaviour binding")

// breakouts are the texts that end a style element or open a comment in one (D28), in lower case. The third of that kind,
// which closes such a comment, means that only outside of strings and comments, where it is a token.
var breakouts = [...]string{"</style", "<!--"}
