package sanitize

import "strings"

// forbiddenFunctions are the CSS functions that can load a resource, refer to one, or run something (R40, D28), without
// vendor prefix and in lower case.
var forbiddenFunctions = set(`url src image image-set cross-fade element paint expression url-prefix domain document regexp
	canvas progid alphaimageloader`)

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
