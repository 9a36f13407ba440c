/** The list of keyboard shortcuts. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { can } from '../base/session.ts'
import { PLACES } from './places.ts'

export function Keys({ close }: { readonly close: () => void }) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => element.current?.showModal(), [])
  const rows: readonly (readonly [keys: string, meaning: string])[] = [
    ['/ or Ctrl K', 'find a page, a market, a customer or an id'],
    ['j, k', 'next and previous row of a list'],
    ['Enter', 'open the row'],
    ['Esc', 'close a dialog without a change'],
    ...PLACES.filter(({ needs }) => can(needs)).map(({ key, label }) => [`g ${key}`, label] as const),
  ]
  return (
    <dialog ref={element} class="keys" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">Keyboard shortcuts</h2>
      <dl>
        {rows.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="attribution quiet">
        Price charts: Lightweight Charts™, © TradingView, Inc.,{' '}
        <a href="https://www.tradingview.com/">tradingview.com</a>
      </p>
      <footer>
        <button type="button" onClick={() => element.current?.close()}>
          Close
        </button>
      </footer>
    </dialog>
  )
}
