/** A market's executions, newest first. */
import { useRef } from 'preact/hooks'
import { clockText, grouped } from '../base/format.ts'
import type { MarketFeed } from './market-feed.ts'
import { useFeed, useFeedValue } from './use-feed.ts'

const DRAW_MILLISECONDS = 150

export function Tape({ symbol, rows = 26 }: { readonly symbol: string; readonly rows?: number }) {
  const body = useRef<HTMLDivElement>(null)
  const isEmpty = useFeedValue(symbol, (feed) => feed.executions.length === 0)
  useFeed(symbol, (feed) => drawTape(body.current, feed, rows), DRAW_MILLISECONDS)
  return (
    <div class="tape" role="group" aria-label={`Executions of ${symbol}`}>
      <div class="ladder-head" aria-hidden="true">
        <span>Time (UTC)</span>
        <span>Price</span>
        <span>Amount</span>
      </div>
      {isEmpty && <p class="tape-none">No execution yet</p>}
      <div ref={body}>
        {Array.from({ length: rows }, (_, index) => (
          <div class="tape-row" key={index}>
            <span class="num quiet" />
            <span class="num price" />
            <span class="num" />
          </div>
        ))}
      </div>
    </div>
  )
}

function drawTape(body: HTMLElement | null, { executions }: MarketFeed, rows: number): void {
  if (body === null) return
  // The first id shows whether anything is new.
  if (body.dataset.first === (executions[0]?.id ?? '')) return
  body.dataset.first = executions[0]?.id ?? ''
  for (let index = 0; index < rows; index++) {
    const row = body.children[index] as HTMLElement
    const execution = executions[index]
    const [time, price, amount] = [...row.children] as HTMLElement[]
    if (time === undefined || price === undefined || amount === undefined) continue
    row.className = `tape-row ${execution?.side ?? ''}`
    time.textContent = execution === undefined ? '' : clockText(execution.executedAt)
    price.textContent = execution === undefined ? '' : grouped(execution.price)
    amount.textContent = execution?.amount ?? ''
  }
}
