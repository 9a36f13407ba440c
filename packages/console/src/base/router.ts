/**
 * The page's path and query below `/console`, as a signal. Links are ordinary anchors. Clicks on them are handled here
 * unless they open another tab, so the browser's history and middle click work.
 */
import { signal } from '@preact/signals'

const BASE = '/console'

export interface Location {
  /** The path below the base, such as `/markets/BTCUSD`. */
  readonly path: string
  readonly query: URLSearchParams
}

function read(): Location {
  const { pathname, search } = window.location
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname
  return { path: below.replace(/\/+$/, '') || '/', query: new URLSearchParams(search) }
}

export const location = signal<Location>(read())

export function href(path: string): string {
  return BASE + (path === '/' ? '/' : path)
}

export function navigate(path: string, options: { readonly replace?: boolean } = {}): void {
  if (options.replace) window.history.replaceState(null, '', href(path))
  else window.history.pushState(null, '', href(path))
  location.value = read()
  if (!options.replace) window.scrollTo(0, 0)
}

/** Changes query parameters without a history entry. An empty text removes one. */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(location.value.query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  navigate(location.value.path + (text === '' ? '' : `?${text}`), { replace: true })
}

/** Follows the history and clicks on the console's links. */
export function startRouter(): void {
  window.addEventListener('popstate', () => {
    location.value = read()
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const anchor = (event.target as Element | null)?.closest('a')
    if (anchor === null || anchor === undefined || anchor.target !== '' || anchor.hasAttribute('download')) return
    const url = new URL(anchor.href)
    if (url.origin !== window.location.origin || !`${url.pathname}/`.startsWith(`${BASE}/`) || url.hash !== '') return
    event.preventDefault()
    navigate(url.pathname.slice(BASE.length) + url.search)
  })
}
