/**
 * The `<tidegate-book>` display: a table with one row per level. The rows are made once, and a draw writes only the
 * texts that differ. Screen readers announce only a changed status.
 */
import type { Book, DigestMatch } from '../stream/book.ts'
import type { BookStatus } from '../stream/book-change.ts'
import type { Level, SideName } from '../stream/level.ts'

/** The book's status, or why there is none. */
export type Shown = BookStatus | 'CONNECTING' | 'UNAVAILABLE' | 'INCOMPLETE'

const TEXTS: Readonly<Record<Shown, string>> = {
  LIVE: 'Live',
  STALE: 'Stale: no live source',
  RESYNCING: 'Resyncing: prices are old',
  CLOSED: 'Closed',
  CONNECTING: 'Connecting',
  UNAVAILABLE: 'Not available',
  INCOMPLETE: 'Not connected',
}

interface Row {
  readonly element: HTMLTableRowElement
  readonly price: HTMLElement
  readonly amount: HTMLElement
}

export class BookView {
  readonly #section = made('section', 'book')
  readonly #market = made('span', 'market')
  readonly #status = made('span', 'status')
  readonly #message = made('p', 'message')
  readonly #caption = document.createElement('caption')
  readonly #sides: Record<SideName, HTMLTableSectionElement>
  readonly #digest = made('span', 'digest')
  readonly #digestText = document.createElement('code')
  /** The shown book's last comparison. `none` before the first one, undefined without a book. */
  #match: DigestMatch | 'none' | undefined
  /** From the best level outwards. */
  #rows: Record<SideName, Row[]> = { bids: [], asks: [] }

  constructor(root: ShadowRoot) {
    this.#section.lang = 'en'
    this.#status.role = 'status'
    const [header, footer, table] = [made('header', 'header'), made('footer', 'footer'), made('table', 'table')]
    header.append(this.#market, this.#status)
    const head = table.createTHead().insertRow()
    head.append(heading('Price', 'col'), heading('Amount', 'col'))
    this.#sides = { asks: sideOf(table, 'asks', 'Asks'), bids: sideOf(table, 'bids', 'Bids') }
    table.prepend(this.#caption)
    footer.append(this.#digest, this.#digestText)
    this.#section.append(header, this.#message, table, footer)
    root.append(this.#section)
  }

  /** Starts with empty rows for another book. */
  reset(market: string, levels: number): void {
    this.#market.textContent = market
    this.#caption.textContent = `Order book of ${market}`
    for (const side of ['asks', 'bids'] as const) {
      const rows = Array.from({ length: levels }, newRow)
      this.#rows[side] = rows
      const elements = rows.map(({ element }) => element)
      // The best prices of both sides are next to each other.
      const title = this.#sides[side].rows.item(0)
      this.#sides[side].replaceChildren(title as Node, ...(side === 'asks' ? elements.reverse() : elements))
    }
    this.#match = undefined
    this.#showDigest('INCOMPLETE')
  }

  /** Shows a status in place of a book. The message is for the page's maintainers. */
  show(status: Shown, message = ''): void {
    this.#section.dataset.status = status
    write(this.#status, TEXTS[status])
    write(this.#message, message)
    this.#showDigest(status)
  }

  draw(book: Book): void {
    this.#match = book.digestMatch ?? 'none'
    this.show(book.status)
    const count = this.#rows.bids.length
    const sides = { bids: book.bids(count), asks: book.asks(count) }
    const largest = [...sides.bids, ...sides.asks].reduce(
      (most, { scaledAmount: each }) => (each > most ? each : most),
      1n,
    )
    for (const side of ['asks', 'bids'] as const)
      for (const [index, row] of this.#rows[side].entries()) drawRow(row, sides[side][index], largest)
  }

  #showDigest(status: Shown): void {
    const match = this.#match === 'none' ? undefined : this.#match
    const isEqual = match !== undefined && status === 'LIVE'
    this.#digest.dataset.state = isEqual ? 'equal' : match === undefined ? 'none' : 'old'
    write(this.#digestText, match?.digest ?? '')
    if (match === undefined) {
      write(this.#digest, this.#match === undefined ? '' : 'Not compared with the service')
      return
    }
    const at = new Date(`${match.time.slice(0, 23)}Z`).toLocaleTimeString('en-GB')
    write(this.#digest, isEqual ? `✓ Equal to the service at ${at}` : `Last equal to the service at ${at}`)
  }
}

function made<Name extends keyof HTMLElementTagNameMap>(name: Name, part: string): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  element.part.add(part)
  return element
}

function heading(text: string, scope: string): HTMLTableCellElement {
  const cell = document.createElement('th')
  cell.scope = scope
  cell.textContent = text
  return cell
}

function sideOf(table: HTMLTableElement, part: string, title: string): HTMLTableSectionElement {
  const body = table.createTBody()
  body.part.add(part)
  const cell = heading(title, 'rowgroup')
  cell.colSpan = 2
  body.insertRow().append(cell)
  return body
}

function newRow(): Row {
  const element = document.createElement('tr')
  const [price, amount] = [made('td', 'price'), made('td', 'amount')]
  element.append(price, amount)
  return { element, price, amount }
}

function drawRow({ element, price, amount }: Row, level: Level | undefined, largest: bigint): void {
  write(price, level?.price ?? '')
  write(amount, level?.amount ?? '')
  const share = level === undefined ? 0n : (level.scaledAmount * 100n) / largest
  // Through the object model, because a policy may forbid style attributes.
  element.style.setProperty('--share', `${share}%`)
}

function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text
}
