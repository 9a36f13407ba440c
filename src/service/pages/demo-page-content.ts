/**
 * The HTML for the demo's page at `/`: one market's live ladder, which reads the stream as any client does. Only the
 * market names and the stream's address vary. It loads one script from its own origin (`packages/demo-page`), and its
 * policy allows no script and no style in the page but this file's.
 */
import { BRAND, DOCUMENT_CARDS, hashOf, type Page, START_STYLE } from './start-page.ts'

export const DEMO_SCRIPT_PATH = '/demo/page.js'

const STYLE = `${START_STYLE}
header h1 { margin: 0; color: var(--warn); font-size: .85rem; font-weight: 400; letter-spacing: 0; }
header label { margin-left: auto; color: var(--quiet); }
select { margin-left: .3rem; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 7px; background: var(--surface);
  color: var(--text); font: inherit; font-weight: 600; }
.book { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1.15fr) minmax(0, 1fr); align-items: start; }
.book h2 { color: var(--quiet); font-weight: 600; }
.side { display: grid; gap: 1rem; }
tidegate-book { --tidegate-book-ground: var(--surface); --tidegate-book-text: var(--text); --tidegate-book-quiet: var(--quiet);
  --tidegate-book-line: var(--line); --tidegate-book-bid: var(--bid); --tidegate-book-ask: var(--ask);
  --tidegate-book-warning: var(--warn); --tidegate-book-font: 13px/1.55 system-ui, sans-serif; }
tidegate-book::part(book) { padding: 1.1rem 1.2rem; border-radius: 10px; }
tidegate-book::part(price) { font-weight: 560; }
table { width: 100%; border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
td { height: 1.65em; padding: 0 .4rem; text-align: right; white-space: nowrap; }
td:first-child { color: var(--quiet); text-align: left; }
#problem { color: var(--warn); overflow-wrap: anywhere; }
#depth { display: block; width: 100%; height: 150px; }
#depth path { stroke-width: 1.5; vector-effect: non-scaling-stroke; }
#depth .bids { fill: var(--bid-bar); stroke: var(--bid); }
#depth .asks { fill: var(--ask-bar); stroke: var(--ask); }
@media (max-width: 44rem) { .book { grid-template-columns: minmax(0, 1fr); } header label { margin-left: 0; } }
`

/**
 * @param symbols the markets to choose from, the first one shown first
 * @param streamOrigin the WebSocket's origin, which not every browser includes in `'self'`
 */
export function demoPage(symbols: readonly string[], streamOrigin: string): Page {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${hashOf(STYLE)}`,
    'img-src data:',
    `connect-src 'self' ${streamOrigin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  return { policy, html: pageOf(symbols, streamOrigin) }
}

function pageOf(symbols: readonly string[], streamOrigin: string): string {
  const options = symbols.map((symbol) => `<option>${escaped(symbol)}</option>`).join('')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>Tidegate demo</title>
<style>${STYLE}</style>
<script type="module" src="${DEMO_SCRIPT_PATH}"></script>
<header>
${BRAND}
<h1>Demo</h1>
<label>Market<select id="market">${options}</select></label>
</header>
<main>
<div class="book">
<tidegate-book url="${streamOrigin}" levels="16"></tidegate-book>
<div class="side">
<section><h2>Depth</h2><svg id="depth" viewBox="0 0 2000 1000" preserveAspectRatio="none" role="img" aria-label="Depth of the book"><path class="bids"/><path class="asks"/></svg></section>
<section><h2>Trades</h2><p id="problem" role="status"></p><table><tbody id="trades"></tbody></table></section>
</div>
</div>
${DOCUMENT_CARDS}
</main>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
