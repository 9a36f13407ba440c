/**
 * A well-behaved customer, in its own process so that the attacker's work does not delay it. It reads every market's
 * stream and requests `/livez` ten times a second, each time over a new connection. For each window between two
 * commands from its parent it reports the stream's longest silence and the slowest response from `/livez`.
 */
import { get } from 'node:http'
import { WebSocket } from 'ws'
import type { HonestReport, HonestSetup } from './honest-process.ts'

const LIVEZ_INTERVAL_MILLISECONDS = 100
/** A response that takes longer counts as missing. */
const LIVEZ_MILLISECONDS_MAX = 5_000

const window = { lastMilliseconds: 0, silenceMilliseconds: 0, livezMilliseconds: 0, messages: 0, livezFailures: 0 }
/** The send times of `/livez` requests without an answer so far. */
const waiting = new Set<number>()
let closed: string | undefined

process.once('message', (text) => start(JSON.parse(String(text)) as HonestSetup))
// Ends with its parent.
process.once('disconnect', () => process.exit())
process.send?.('loaded')

function start({ wsUrl, token, markets, livezUrl }: HonestSetup): void {
  const socket = new WebSocket(wsUrl, { headers: { authorization: `Bearer ${token}` }, perMessageDeflate: false })
  socket.on('open', () => {
    const channels = markets.map((market) => ({ type: 'market_data', params: { market } }))
    socket.send(JSON.stringify({ type: 'subscribe', channels }))
  })
  socket.on('message', onData)
  socket.on('close', (code) => {
    closed ??= `closed with ${code}`
  })
  socket.on('error', (error) => {
    closed ??= error.message
  })
  setInterval(() => askLivez(livezUrl), LIVEZ_INTERVAL_MILLISECONDS)
  process.on('message', (command) => {
    if (command === 'begin') begin()
    else process.send?.(JSON.stringify(end()))
  })
  socket.once('message', () => process.send?.('ready'))
}

function begin(): void {
  Object.assign(window, { silenceMilliseconds: 0, livezMilliseconds: 0, messages: 0, livezFailures: 0 })
  window.lastMilliseconds = performance.now()
}

function end(): HonestReport {
  endSilence()
  for (const begun of waiting) noteLivez(performance.now() - begun)
  const { silenceMilliseconds, livezMilliseconds, messages, livezFailures } = window
  return { silenceMilliseconds, livezMilliseconds, messages, livezFailures, closed }
}

function onData(): void {
  endSilence()
  window.messages++
}

function endSilence(): void {
  const now = performance.now()
  window.silenceMilliseconds = Math.max(window.silenceMilliseconds, now - window.lastMilliseconds)
  window.lastMilliseconds = now
}

function askLivez(url: string): void {
  const begun = performance.now()
  waiting.add(begun)
  const answered = (isGood: boolean): void => {
    waiting.delete(begun)
    noteLivez(isGood ? performance.now() - begun : LIVEZ_MILLISECONDS_MAX)
    if (!isGood) window.livezFailures++
  }
  const request = get(url, { agent: false, timeout: LIVEZ_MILLISECONDS_MAX }, (response) => {
    response.resume()
    response.once('end', () => answered(response.statusCode === 200))
  })
  request.once('timeout', () => request.destroy(new Error('no answer in time')))
  request.once('error', () => answered(false))
}

function noteLivez(milliseconds: number): void {
  window.livezMilliseconds = Math.max(window.livezMilliseconds, milliseconds)
}
