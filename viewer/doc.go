// Package viewer is the browser side of cardrun: an ES module that shows a session's card in a page and keeps it live, and the
// playground, a page that shows what a card is and does. It knows HTML, the calls of the HTTP service and how events come
// about in a browser; it does not know the rules of cards, which the server applies, nor how a session is run.
//
// The files are embedded. [Module] is the whole module as one file without dependencies; [FrameModule] is the part of it that shows
// a card, applies batches and collects events, without HTTP, for pages that reach a session in another way. [Pages] serves
// the playground.
//
//	<script type="module">
//	  import {mount} from 'https://cards.example/viewer.js';
//	  mount(document.querySelector('#card'), {url: 'https://cards.example', session, token});
//	</script>
//
// # The frame
//
// A card lives in an iframe that is sandboxed with allow-same-origin and without allow-scripts. The page reaches into the frame
// to change it and to hear its events; nothing in it can run, so nothing in it can use the origin it has. Its own policy
// lets it load nothing, the sandbox keeps it from submitting, opening windows and navigating the page, and a frame that navigates
// itself is thrown away. The card's style sheet is a constructed one: it works under a page's strict policy and imports nothing.
package viewer
