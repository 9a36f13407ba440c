/**
 * A market's ladder: the best levels on both sides with their amounts, the sum up to each level as a bar, and the
 * spread. Rows are made once, and a draw writes only changed texts.
 */
import { useMemo, useRef } from 'preact/hooks'
import { grouped } from '../base/format.ts'
import { decimalsOf, difference, shareOf, unitsOf } from './decimal.ts'
import type { Level } from './level.ts'
import type { MarketFeed } from './market-feed.ts'
import { useFeed } from './use-feed.ts'

const DRAW_MILLISECONDS = 100
const ROWS_DEFAULT = 12

interface RowElements {
  readonly row: HTMLElement
  readonly price: HTMLElement
  readonly amount: HTMLElement
  readonly sum: HTMLElement
}

export function Ladder({ symbol, rows = ROWS_DEFAULT }: { readonly symbol: string; readonly rows?: number }) {
  const body = useRef<HTMLDivElement>(null)
  const drawn = useMemo(() => new WeakMap<HTMLElement, string>(), [])
  const write = (element: HTMLElement, text: string) => {
    if (drawn.get(element) === text) return
    drawn.set(element, text)
    element.textContent = text
  }
  const draw = (feed: MarketFeed) => {
    const element = body.current
    if (element === null) return
    drawLadder(element, feed, rows, write)
  }
  useFeed(symbol, draw, DRAW_MILLISECONDS)
  return (
    <div class="ladder" ref={body} role="group" aria-label={`Order book of ${symbol}`}>
      <div class="ladder-head" aria-hidden="true">
        <span>Price</span>
        <span>Amount</span>
        <span>Sum</span>
      </div>
      <LadderSide name="asks" rows={rows} />
      <div class="spread">
        <span class="quiet">Spread</span>
        <span class="num" data-spread="price" />
        <span class="num quiet" data-spread="points" />
      </div>
      <LadderSide name="bids" rows={rows} />
    </div>
  )
}

function LadderSide({ name, rows }: { readonly name: 'bids' | 'asks'; readonly rows: number }) {
  return (
    <div class={`ladder-side ${name}`} data-side={name}>
      {Array.from({ length: rows }, (_, index) => (
        <div class="ladder-row" key={index}>
          <span class="num price" />
          <span class="num" />
          <span class="num quiet" />
        </div>
      ))}
    </div>
  )
}

function drawLadder(
  element: HTMLElement,
  feed: MarketFeed,
  rows: number,
  write: (element: HTMLElement, text: string) => void,
): void {
  const bids = feed.bids(rows)
  const asks = feed.asks(rows)
  element.classList.toggle('not-live', feed.status !== 'live')
  element.classList.toggle('no-book', bids.length + asks.length === 0)
  const decimals = Math.max(0, ...[...bids, ...asks].map(({ amount }) => decimalsOf(amount)))
  const sums = [bids, asks].map((levels) => sumsOf(levels, decimals))
  const largest = sums.reduce((most, side) => ((side.at(-1) ?? 0n) > most ? (side.at(-1) ?? 0n) : most), 0n)
  for (const [index, [name, levels]] of (
    [
      ['bids', bids],
      ['asks', asks],
    ] as const
  ).entries()) {
    const elements = rowElements(element, name)
    for (let place = 0; place < rows; place++) {
      // The best ask is the lowest row on its side.
      const target = elements[name === 'asks' ? rows - 1 - place : place]
      if (target === undefined) continue
      const level = levels[place]
      const sum = sums[index]?.[place]
      write(target.price, level === undefined ? '' : grouped(level.price))
      write(target.amount, level?.amount ?? '')
      write(target.sum, sum === undefined ? '' : sumText(sum, decimals))
      const share = sum === undefined ? '0' : shareOf(sum, largest).toFixed(3)
      if (target.row.dataset.share !== share) {
        target.row.dataset.share = share
        target.row.style.setProperty('--share', share)
      }
    }
  }
  drawSpread(element, bids[0], asks[0], write)
}

function drawSpread(
  element: HTMLElement,
  bid: Level | undefined,
  ask: Level | undefined,
  write: (element: HTMLElement, text: string) => void,
): void {
  const price = element.querySelector<HTMLElement>('[data-spread=price]')
  const points = element.querySelector<HTMLElement>('[data-spread=points]')
  if (price === null || points === null) return
  if (bid === undefined || ask === undefined) {
    write(price, bid !== undefined ? 'no asks' : ask !== undefined ? 'no bids' : 'no book')
    write(points, '')
    return
  }
  write(price, difference(ask.price, bid.price))
  write(points, `${basisPoints(bid.price, ask.price)} bp`)
}

/** The spread in basis points (hundredths of a per cent) of the bid, with two decimals. */
export function basisPoints(bid: string, ask: string): string {
  const decimals = Math.max(decimalsOf(bid), decimalsOf(ask))
  const low = unitsOf(bid, decimals)
  if (low === 0n) return '–'
  const hundredths = ((unitsOf(ask, decimals) - low) * 1_000_000n) / low
  return (Number(hundredths) / 100).toFixed(2)
}

function sumsOf(levels: readonly Level[], decimals: number): readonly bigint[] {
  let sum = 0n
  return levels.map(({ amount }) => {
    sum += unitsOf(amount, decimals)
    return sum
  })
}

/** Sums are read at a glance, so they show at most three decimals. */
function sumText(sum: bigint, decimals: number): string {
  const shown = Math.min(decimals, 3)
  const units = sum / 10n ** BigInt(decimals - shown)
  const digits = String(units).padStart(shown + 1, '0')
  return grouped(shown === 0 ? digits : `${digits.slice(0, -shown)}.${digits.slice(-shown)}`)
}

const elementsOf = new WeakMap<Element, readonly RowElements[]>()

function rowElements(element: HTMLElement, side: 'bids' | 'asks'): readonly RowElements[] {
  const container = element.querySelector(`[data-side=${side}]`)
  if (container === null) return []
  const known = elementsOf.get(container)
  if (known !== undefined) return known
  const rows = [...container.children].map((row): RowElements => {
    const [price, amount, sum] = [...row.children] as HTMLElement[]
    return {
      row: row as HTMLElement,
      price: price as HTMLElement,
      amount: amount as HTMLElement,
      sum: sum as HTMLElement,
    }
  })
  elementsOf.set(container, rows)
  return rows
}
