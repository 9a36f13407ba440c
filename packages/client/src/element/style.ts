/**
 * The `<tidegate-book>` style: one sheet shared by all elements on a page, and no `style` element, because a policy may
 * forbid it. The section defines the colours, because the host inherits the page's properties, which may have the same
 * names.
 */

const TEXT = `
:host {
  display: block;
  font: var(--tidegate-book-font, 14px/1.5 system-ui, sans-serif);
}
:host([hidden]) { display: none; }
section {
  --ground: var(--tidegate-book-ground, light-dark(#ffffff, #11151c));
  --text: var(--tidegate-book-text, light-dark(#17202c, #e6ebf2));
  --quiet: var(--tidegate-book-quiet, light-dark(#5b6675, #98a4b4));
  --line: var(--tidegate-book-line, light-dark(#d9dfe7, #2a3340));
  --bid: var(--tidegate-book-bid, light-dark(#0a7350, #4cc79a));
  --ask: var(--tidegate-book-ask, light-dark(#b3303b, #f0868e));
  --warning: var(--tidegate-book-warning, light-dark(#8a4b00, #f0b35b));
  background: var(--ground); color: var(--text); border: 1px solid var(--line); border-radius: 8px; padding: 0.75em;
}
header, footer { display: flex; flex-wrap: wrap; gap: 0.25em 0.75em; justify-content: space-between; align-items: baseline; }
header { font-weight: 600; }
[part="status"] { color: var(--warning); border: 1px solid currentcolor; border-radius: 999px; padding: 0 0.6em; }
[data-status="LIVE"] [part="status"] { color: var(--bid); }
[part="message"] { margin: 0.5em 0 0; overflow-wrap: anywhere; }
[part="message"]:empty { display: none; }
table { width: 100%; border-collapse: collapse; margin: 0.5em 0; font-variant-numeric: tabular-nums; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
th { font-weight: 400; color: var(--quiet); font-size: 0.85em; }
th, td { text-align: right; padding: 0 0.25em; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tbody th { padding-top: 0.5em; }
td { height: 1.5em; }
tr { --share: 0%; }
[part="asks"] td:last-child { background: linear-gradient(color-mix(in srgb, var(--ask) 18%, transparent) 0 0) right / var(--share) 100% no-repeat; }
[part="bids"] td:last-child { background: linear-gradient(color-mix(in srgb, var(--bid) 18%, transparent) 0 0) right / var(--share) 100% no-repeat; }
[part="asks"] td:first-child { color: var(--ask); }
[part="bids"] td:first-child { color: var(--bid); }
section:not([data-status="LIVE"]) td { color: var(--quiet); background: none; font-style: italic; }
footer { color: var(--quiet); font-size: 0.85em; border-top: 1px solid var(--line); padding-top: 0.5em; }
[part="digest"][data-state="equal"] { color: var(--bid); }
code { font: 0.95em ui-monospace, monospace; overflow-wrap: anywhere; }
`

let shared: CSSStyleSheet | undefined

export function styleSheet(): CSSStyleSheet {
  if (shared === undefined) {
    shared = new CSSStyleSheet()
    shared.replaceSync(TEXT)
  }
  return shared
}
