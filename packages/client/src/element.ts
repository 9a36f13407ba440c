/**
 * `<tidegate-book>`: a live order book for your own page. It shows the book's exact prices, its status, and when its
 * digest was last compared with the service's. Importing this module defines the element.
 */
import type { TokenSource } from './credentials.ts'
import { styleSheet } from './element/style.ts'
import { BookView } from './element/view.ts'
import { TidegateError } from './errors.ts'
import type { Book } from './stream/book.ts'
import { StreamClient } from './stream/stream-client.ts'

const LEVELS_DEFAULT = 10
const LEVELS_MAX = 1_000
/** The depths offered by a service. */
const DEPTHS = [1, 5, 10, 25, 50, 100, 500, 1_000]
/** Prices that change more often are unreadable. */
const INTERVAL_MILLISECONDS = 100
/** Wait before retrying a service that could not be reached at all. A random addition makes it up to twice as long. */
const RETRY_MILLISECONDS = 10_000

/**
 * Attributes: `market`, such as BTCUSD, `url`, the stream's address (`wss://…`), and `levels` per side, 10 by default
 * and at most 1,000. A connection is open while the element is in a document and has `market`, `url` and
 * `authenticate`.
 */
export class TidegateBookElement extends HTMLElement {
  static readonly observedAttributes = ['market', 'url', 'levels']

  readonly #view: BookView
  #authenticate: TokenSource | 'none' | undefined
  /** Aborted to end the current display. */
  #showing = new AbortController()
  #isQueued = false

  constructor() {
    super()
    const root = this.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [styleSheet()]
    this.#view = new BookView(root)
  }

  /**
   * The token source for the stream, from code that knows the page's viewer. `none` means cookies authenticate the
   * stream.
   */
  get authenticate(): TokenSource | 'none' | undefined {
    return this.#authenticate
  }

  set authenticate(tokens: TokenSource | 'none' | undefined) {
    this.#authenticate = tokens
    this.#queue()
  }

  connectedCallback(): void {
    // A page may have set it before this module was loaded.
    if (Object.hasOwn(this, 'authenticate')) {
      const { authenticate } = this
      delete (this as { authenticate?: unknown }).authenticate
      this.authenticate = authenticate
    }
    this.#queue()
  }

  disconnectedCallback(): void {
    this.#queue()
  }

  attributeChangedCallback(): void {
    this.#queue()
  }

  /** Starts again at the end of the tick, once even after several changes or a move within the page. */
  #queue(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    queueMicrotask(() => {
      this.#isQueued = false
      this.#showing.abort()
      if (!this.isConnected) return
      this.#showing = new AbortController()
      void this.#show(this.#showing.signal)
    })
  }

  async #show(signal: AbortSignal): Promise<void> {
    const [market, url, authenticate] = [this.getAttribute('market'), this.getAttribute('url'), this.#authenticate]
    const levels = Number(this.getAttribute('levels') ?? LEVELS_DEFAULT)
    const areLevels = Number.isInteger(levels) && levels >= 1 && levels <= LEVELS_MAX
    this.#view.reset(market ?? '', areLevels ? levels : LEVELS_DEFAULT)
    if (!areLevels) return this.#view.show('UNAVAILABLE', `levels must be a whole number from 1 to ${LEVELS_MAX}`)
    if (market === null || url === null || authenticate === undefined) return this.#view.show('INCOMPLETE')
    while (!signal.aborted) {
      this.#view.show('CONNECTING')
      try {
        await this.#follow({ market, url, authenticate, levels, signal })
      } catch (error) {
        if (signal.aborted) return
        this.#view.show('UNAVAILABLE', error instanceof Error ? error.message : String(error))
        // The client repairs everything repairable, but reports a first connection without an answer.
        if (!(error instanceof TidegateError && error.code === 'UNREACHABLE')) return
        await wait(RETRY_MILLISECONDS * (1 + Math.random()), signal)
      }
    }
  }

  /** Shows one book until it ends, and throws the reason. */
  async #follow({ market, url, authenticate, levels, signal }: Source): Promise<void> {
    let [book, frame]: [Book | undefined, number | undefined] = [undefined, undefined]
    const draw = (): void => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined
        if (book !== undefined) this.#view.draw(book)
      })
    }
    // A heartbeat compares the digest, but is not a change to the book.
    const client = new StreamClient({ url, authenticate, onHeartbeat: draw })
    const close = (): void => client.close()
    signal.addEventListener('abort', close)
    try {
      book = await opened(client, market, DEPTHS.find((depth) => depth >= levels) as number)
      for await (const _change of book) draw()
    } finally {
      signal.removeEventListener('abort', close)
      client.close()
      if (frame !== undefined) cancelAnimationFrame(frame)
    }
  }
}

interface Source {
  readonly market: string
  readonly url: string
  readonly authenticate: TokenSource | 'none'
  readonly levels: number
  readonly signal: AbortSignal
}

/** The book with this depth, or the whole book where the market publishes fewer levels. */
async function opened(client: StreamClient, market: string, depth: number): Promise<Book> {
  const options = { interval: INTERVAL_MILLISECONDS }
  try {
    return await client.book(market, { ...options, depth })
  } catch (error) {
    if (!(error instanceof TidegateError && error.code === 'SUBSCRIPTION_REFUSED')) throw error
    return client.book(market, options)
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}

declare global {
  interface HTMLElementTagNameMap {
    'tidegate-book': TidegateBookElement
  }
}

if (customElements.get('tidegate-book') === undefined) customElements.define('tidegate-book', TidegateBookElement)
