/**
 * `<tidegate-book>` in Chromium: in the page of examples/page, with its policy and its server, on a service; and on a scripted
 * stream, which brings it into each status.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { accessibilityFaults } from '../console/accessibility.ts'
import { once } from '../support/awaited.ts'
import { digestOf } from '../support/extended-verifier.ts'
import { CHROMIUM, titleWith } from '../support/foreign-programs.ts'
import { bookTime, nanosecondTime, snapshot, update } from '../support/wire.ts'

const CLIENT = join(import.meta.dirname, '../../packages/client')
/** The others take a second each. */
const inLongRun = it.skipIf(process.env.TIDEGATE_LONG !== '1')
const POLICY = "default-src 'none'; script-src 'self'; connect-src *; img-src data:"
const M = 'BTCUSD'
type Pairs = readonly (readonly [price: string, amount: string])[]
const BIDS: Pairs = [
  ['100.00', '1.5000'],
  ['99.00', '0.5000'],
]
const ASKS: Pairs = [['100.50', '1.0000']]

/** A page with the element and a stream that a test plays. */
class Stage {
  readonly sockets: WebSocket[] = []
  readonly requests: { readonly type: string; readonly channels: { readonly params?: object }[] }[] = []
  readonly #server = createServer()
  #code = ''
  address = ''

  async start(): Promise<void> {
    const stdin = { contents: `import './src/element.ts'`, resolveDir: CLIENT, loader: 'js' } as const
    const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm', platform: 'browser' })
    this.#code = outputFiles[0]?.text ?? ''
    this.#server.on('request', ({ url }, response) => {
      response.setHeader('content-security-policy', POLICY)
      const isCode = url === '/element.js'
      response.setHeader('content-type', isCode ? 'text/javascript' : 'text/html')
      response.end(isCode ? this.#code : this.#page)
    })
    const streams = new WebSocketServer({ server: this.#server, handleProtocols: () => 'tidegate.v1' })
    streams.on('connection', (socket) => {
      this.sockets.push(socket)
      socket.on('message', (data) => this.#answer(socket, JSON.parse(String(data))))
    })
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.address = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get #page(): string {
    return `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>A page</title>
<link rel="icon" href="data:,"><meta name="color-scheme" content="light dark"><script type="module" src="/element.js"></script>
<main><h1>A page</h1><tidegate-book market="${M}" url="ws://${this.address}" levels="3"></tidegate-book></main></html>`
  }

  #answer(socket: WebSocket, request: Stage['requests'][number]): void {
    this.requests.push(request)
    const channels = request.channels.map((entry) => ({ ...entry, success: true }))
    socket.send(JSON.stringify({ type: request.type, channels }))
    if (request.type === 'subscribe') this.send({ ...snapshot(M, 1, BIDS, ASKS), stream: { cursor: 'c1', covers: 0 } })
  }

  send(message: object): void {
    this.sockets.at(-1)?.send(JSON.stringify(message))
  }

  heartbeat(statement: object, milliseconds = 5_000): void {
    this.send({ channel: 'heartbeat', payload: { timestamp: nanosecondTime(milliseconds), books: [statement] } })
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.terminate()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

describe.skipIf(CHROMIUM.isSkipped)(titleWith('<tidegate-book>', CHROMIUM, 'chromium'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  })
  afterAll(() => browser?.close())

  interface Opened {
    readonly stage: Stage
    readonly page: Page
    readonly faults: string[]
    /** The text of a part of the element. */
    readonly part: (name: string) => Promise<string[]>
  }

  async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> {
    const stage = new Stage()
    await stage.start()
    const context = await browser.newContext({ timezoneId: 'UTC', ...options })
    onTestFinished(async () => {
      await context.close()
      await stage.stop()
    })
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
    await page.goto(`http://${stage.address}/`)
    await page.evaluate(`window.element = document.querySelector('tidegate-book')`)
    const part = (name: string) => page.locator(`[part=${name}]`).allTextContents()
    return { stage, page, faults, part }
  }

  /** With a token of the page. */
  async function live(options?: Parameters<Browser['newContext']>[0]): Promise<Opened> {
    const opened = await open(options)
    const { page, part } = opened
    expect(await part('status')).toEqual(['Not connected'])
    await page.evaluate(`element.authenticate = { token: async () => 'a-token', discard: () => undefined }`)
    await page.getByText('Live', { exact: true }).waitFor()
    return opened
  }

  it('the ladder element shows exact texts, the best prices next to each other, and no more than its levels', async () => {
    const { stage, part, faults } = await live()
    expect(stage.requests[0]?.channels[1]).toEqual({
      type: 'market_data',
      params: { market: M, depth: 5, interval_ms: 100 },
    })
    expect(await part('price')).toEqual(['', '', '100.50', '100.00', '99.00', ''])
    expect(await part('amount')).toEqual(['', '', '1.0000', '1.5000', '0.5000', ''])
    const more: Pairs = ['101.00', '102.00', '103.00'].map((price) => [price, '1.0000'])
    stage.send({ ...update(M, 2, [], more), stream: { cursor: 'c2', prev: 'c1', covers: 1 } })
    await expect.poll(() => part('price')).toEqual(['102.00', '101.00', '100.50', '100.00', '99.00', ''])
    expect(faults).toEqual([])
  })

  it('the ladder element has the colours of a page that names its own as the element names them inside', async () => {
    const { page } = await live()
    const css = ':root { --ask: rgb(1, 2, 3); } tidegate-book { --tidegate-book-ask: var(--ask); }'
    await page.evaluate(
      `const sheet = new CSSStyleSheet(); sheet.replaceSync('${css}'); document.adoptedStyleSheets = [sheet]`,
    )
    const cell = `element.shadowRoot.querySelector('[part=asks] [part=price]')`
    expect(await page.evaluate(`getComputedStyle(${cell}).color`)).toBe('rgb(1, 2, 3)')
  })

  it('the ladder element shows when its digest was last compared, and since when it is stale', async () => {
    const { stage, part, page } = await live()
    expect(await part('digest')).toEqual(['Not compared with the service'])
    const digest = digestOf({ bids: new Map(BIDS), asks: new Map(ASKS) })
    stage.heartbeat({ market: M, cursor: 'c1', live: true, digest })
    await expect.poll(() => part('digest')).toEqual(['✓ Equal to the service at 00:00:05'])
    expect(await page.locator('footer code').textContent()).toBe(digest)
    stage.heartbeat({ market: M, cursor: 'c1', live: false, since: bookTime(1) }, 6_000)
    await expect.poll(() => part('status')).toEqual(['Stale: no live source'])
    expect(await part('digest')).toEqual(['Last equal to the service at 00:00:05'])
    const cell = `element.shadowRoot.querySelector('[part=asks] tr:last-child td')`
    expect(await page.evaluate(`getComputedStyle(${cell}).fontStyle`)).toBe('italic')
    expect(await accessibilityFaults(page)).toEqual([])
    stage.heartbeat({ market: M, cursor: 'c1', live: true, digest: '0123456789abcdef' }, 7_000)
    await expect.poll(() => stage.requests.filter(({ type }) => type === 'unsubscribe')).toHaveLength(1)
    await expect.poll(() => part('digest')).toEqual(['Not compared with the service'])
    await expect.poll(() => part('status')).toEqual(['Live'])
  })

  it('the ladder element calls no book equal to the service after the service has refused the page', async () => {
    const { stage, part } = await live()
    const digest = digestOf({ bids: new Map(BIDS), asks: new Map(ASKS) })
    stage.heartbeat({ market: M, cursor: 'c1', live: true, digest })
    await expect.poll(() => part('digest')).toEqual(['✓ Equal to the service at 00:00:05'])
    stage.sockets.at(-1)?.close(4003, 'access revoked')
    await expect.poll(() => part('status')).toEqual(['Not available'])
    expect(await part('digest')).toEqual(['Last equal to the service at 00:00:05'])
  })

  inLongRun('is old while the connection is lost, and resumes', async () => {
    const { stage, part, page } = await live()
    stage.sockets.at(-1)?.close(1012)
    await expect.poll(() => part('status')).toEqual(['Resyncing: prices are old'])
    await page.getByText('Live', { exact: true }).waitFor()
    expect(stage.sockets).toHaveLength(2)
  })

  inLongRun(
    'closes its connection when it is removed, opens one when it is added, and follows its attributes',
    async () => {
      const { stage, page, part } = await live()
      const isOpen = () => stage.sockets.map(({ readyState }) => readyState === 1)
      // Moved: one connection again.
      await page.evaluate(`document.body.append(element)`)
      await expect.poll(isOpen).toEqual([false, true])
      await page.evaluate(`element.remove()`)
      await expect.poll(isOpen).toEqual([false, false])
      await page.evaluate(
        `document.body.append(element); element.setAttribute('levels', '1'); element.setAttribute('market', 'ETHUSD')`,
      )
      await expect
        .poll(() => stage.requests.at(-1)?.channels[1])
        .toMatchObject({ params: { market: 'ETHUSD', depth: 1 } })
      expect(stage.sockets).toHaveLength(3)
      await page.evaluate(`element.setAttribute('levels', 'many')`)
      await expect.poll(() => part('message')).toEqual(['levels must be a whole number from 1 to 1000'])
      await expect.poll(isOpen).toEqual([false, false, false])
    },
  )

  inLongRun('says why it cannot show a book', async () => {
    const { page, part } = await open()
    await page.evaluate(`element.setAttribute('url', 'api.example.com'); element.authenticate = 'none'`)
    await expect.poll(() => part('status')).toEqual(['Not available'])
    expect(await part('message')).toEqual([expect.stringContaining('must begin with wss://')])
  })

  inLongRun.each(['light', 'dark'] as const)('is accessible, and fits a phone: %s', async (colorScheme) => {
    const { page, faults } = await live({ colorScheme, viewport: { width: 390, height: 844 } })
    expect(await accessibilityFaults(page)).toEqual([])
    const table = page.getByRole('table', { name: `Order book of ${M}` })
    await expect.poll(() => table.getByRole('columnheader').allTextContents()).toEqual(['Price', 'Amount'])
    const isWide = await page.evaluate(`document.documentElement.scrollWidth > innerWidth`)
    expect(isWide).toBe(false)
    expect(faults).toEqual([])
  })
})
