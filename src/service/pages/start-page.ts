/**
 * The page that a browser gets at `/` on the public listener, and the style that it shares with the demo's page. It has
 * no script, and loads nothing.
 */
import { createHash } from 'node:crypto'

/** A response to a browser. */
export interface Page {
  readonly html: string
  /** The page's `Content-Security-Policy`. */
  readonly policy: string
}

export const START_STYLE = `
:root { color-scheme: light dark; --ground: #f5f6f5; --surface: #fff; --line: #dfe3e1; --text: #16201d; --quiet: #56635f;
  --accent: #0c6a66; --bid: #12734a; --bid-bar: #d3ecdf; --ask: #b03a34; --ask-bar: #f6dcd9; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ground: #0e1413; --surface: #151d1b; --line: #26322f; --text: #e4ebe8;
  --quiet: #93a29d; --accent: #5fc2b8; --bid: #5cc794; --bid-bar: #143125; --ask: #f08c85; --ask-bar: #3a1f1e; --warn: #e0ae52; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 3rem; background: var(--ground); color: var(--text);
  font: 15px/1.55 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .75rem 1.25rem; align-items: center; margin-bottom: 1.5rem; }
.brand { display: flex; gap: .6rem; align-items: center; font-size: 1.2rem; font-weight: 680; letter-spacing: -.02em; }
.brand svg { fill: none; stroke: currentcolor; stroke-width: 2; stroke-linecap: round; }
.brand path:last-child { stroke: var(--accent); }
h1 { max-width: 30ch; margin: 2.5rem 0 .5rem; font-size: clamp(1.7rem, 5vw, 2.4rem); line-height: 1.15; letter-spacing: -.025em; }
h2 { margin: 0 0 .35rem; font-size: .95rem; }
p { margin: 0; }
.lead { max-width: 60ch; color: var(--quiet); font-size: 1.05rem; }
a { color: var(--accent); text-underline-offset: 2px; }
code { font: .9em ui-monospace, monospace; }
section { padding: 1.1rem 1.2rem; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); min-width: 0; }
section p { color: var(--quiet); }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); margin-top: 2rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`

export const BRAND = `<span class="brand"><svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M4 21V9a8 8 0 0 1 16 0v12"/><path d="M4 15c2.7-2 5.3-2 8 0s5.3 2 8 0M4 19.5c2.7-2 5.3-2 8 0s5.3 2 8 0"/></svg>Tidegate</span>`

/** Where a program begins: one card for each document. */
export const DOCUMENT_CARDS = `<div class="cards">
<section><h2>Get a token</h2><p><a href="/oauth2/token"><code>POST /oauth2/token</code></a>: OAuth 2 client credentials, from the client id
and secret that the operator gave you.</p></section>
<section><h2>Open the stream</h2><p>A WebSocket to this address, <code>/</code>, with <code>Authorization: Bearer TOKEN</code>. Its messages:
<a href="/docs/stream">described</a>, and as <a href="/asyncapi.json">AsyncAPI</a>.</p></section>
<section><h2>Call the API</h2><p>Accounts, deposit addresses, rules and transfers: <a href="/docs/">the REST API</a>, and as
<a href="/openapi.json">OpenAPI</a>.</p></section>
</div>`

export const START_PAGE: Page = {
  policy: `default-src 'none'; style-src ${hashOf(START_STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  html: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tidegate</title>
<style>${START_STYLE}</style>
<header>${BRAND}</header>
<main>
<h1>Live order books over one authenticated WebSocket</h1>
<p class="lead">This service is running. It is for programs: here is where they begin.</p>
${DOCUMENT_CARDS}
</main>
</html>
`,
}

/** The source of an inline style or script in a policy. */
export function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
