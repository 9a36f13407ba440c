/**
 * Draws the last frame from a recorded `tidegate watch` as an SVG, for README and the documentation's first page:
 *
 *     script -qefc 'stty cols 76 rows 26; node dist/main.js watch BTCUSD --seconds 8' recorded
 *     node scripts/terminal-picture.mjs recorded docs/images/watch.svg
 *
 * A frame is the text between the two marks of a synchronized update. It contains only colours and weights.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const [recorded, picture] = process.argv.slice(2)
const FRAME_END = '\u001b[?2026l'
const LINE_PIXELS = 19
const COLUMN_PIXELS = 8.4
const MARGIN_PIXELS = 16
const COLUMNS = 76
/** Readable on a dark background, which the picture includes. */
const COLOURS = { 31: '#ff7b72', 32: '#56d364', 33: '#e3b341' }
const [GROUND, INK, DIM] = ['#0d1117', '#e6edf3', '#8b949e']

const text = readFileSync(recorded, 'utf8')
const end = text.lastIndexOf(FRAME_END, text.lastIndexOf('\u001b[?25h') - FRAME_END.length)
const start = text.lastIndexOf('\u001b[G', end)
const lines = text
  .slice(start + 3, end)
  .trimEnd()
  .split(/\r?\n/)

/** One `tspan` per run of characters with the same style, at its column. */
function drawn(line) {
  let [style, column, spans] = [{}, 0, '']
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins each change of style
  for (const [, codes, run] of line.matchAll(/(?:\u001b\[([\d;]*)m)?([^\u001b]*)/g)) {
    if (codes !== undefined) style = restyled(style, codes)
    if (run === '') continue
    const weight = style.bold ? ' font-weight="700"' : ''
    const fill = style.dim ? DIM : (style.colour ?? INK)
    const x = MARGIN_PIXELS + column * COLUMN_PIXELS
    const words = run.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    spans += `<tspan x="${x.toFixed(1)}" fill="${fill}"${weight} textLength="${(run.length * COLUMN_PIXELS).toFixed(1)}">${words}</tspan>`
    column += run.length
  }
  return spans
}

function restyled(before, codes) {
  const style = { ...before }
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) return {}
    if (code === 1) style.bold = true
    else if (code === 2) style.dim = true
    else style.colour = COLOURS[code]
  }
  return style
}

const width = Math.ceil(COLUMNS * COLUMN_PIXELS + 2 * MARGIN_PIXELS)
const height = Math.ceil(lines.length * LINE_PIXELS + 2 * MARGIN_PIXELS)
const rows = lines.map(
  (line, place) =>
    `<text y="${MARGIN_PIXELS + (place + 0.8) * LINE_PIXELS}" xml:space="preserve">${drawn(line)}</text>`,
)
writeFileSync(
  picture,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A live order book in a terminal: asks above bids, and the last trades" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
<rect width="${width}" height="${height}" rx="8" fill="${GROUND}"/>
${rows.join('\n')}
</svg>
`,
)
