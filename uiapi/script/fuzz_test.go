package script

import "testing"

// FuzzRead reads any text: it must come back, and every place must lie in the text.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"ui.text('a', `x${1}`)", "for (let i = 0; i < 3; i++) ui.on('q' + i, 'input', f)",
		"const {a, ...[b]} = c; class D { #x; static {} }", "const a = b + b, b = a + a; ui.text(a + b, '')",
		"let s = ''; s += '<tr>'; ui.html('t', [1].map(x => s).join(''))", "ui?.on?.(...a)", "\ufeffui.on('ü', e => e.target)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		s, err := Read(source)
		if err != nil {
			return
		}
		for _, c := range s.Calls {
			for _, at := range []int{c.Offset, c.IDOffset, c.Value.Offset} {
				if at < 0 || at > len(source) {
					t.Errorf("call at %d of %d bytes", at, len(source))
				}
			}
		}
		for _, u := range s.Foreign {
			if u.Offset < 0 || u.Offset > len(source) {
				t.Errorf("name %q at %d of %d bytes", u.Name, u.Offset, len(source))
			}
		}
	})
}
