// Package chromium starts a Chromium for tests. It knows where browsers are and with what flags nothing but a test's own servers is
// reached, and reads the corpus of attacks; it does not know what is tested. All of it has the build tag browser.
package chromium
