/**
 * Asks a publisher once whether it publishes some markets, and with which decimals, for `check-config`. It returns a
 * result or a problem within a time limit, and leaves no connection open. It does not count in the process metrics.
 */
import type { Clock } from '../../../platform/base/clock.ts'
import { parseJson } from '../../../platform/base/json-value.ts'
import type { Log } from '../../../platform/base/log.ts'
import { createMetricsRegistry } from '../../../platform/base/metrics.ts'
import { type PublishedInstrument, problemText, readPublication } from '../publication/message.ts'
import type { Fetched, Listing } from '../venues/venue.ts'
import { VenueConnection } from '../venues/venue-connection.ts'
import { isControl, publicationEntry, readControl, requests } from './control.ts'
import type { Upstream } from './tidegate-source.ts'
import { prepareUpstreamHandshake } from './upstream-token.ts'

/** Time limit for the whole lookup. A person waits for it. */
const LOOKUP_MILLISECONDS_MAX = 10_000

export interface UpstreamLookupParts {
  readonly name: string
  readonly clock: Clock
  readonly log: Log
}

/**
 * The publisher's markets, in the form of a venue's listings. A market it does not publish is missing from the result.
 * A market without a book at the moment has the state `restricted`, and decimals that fit every market.
 */
export async function lookUpUpstream(
  { url, credentials }: Upstream,
  symbols: readonly string[],
  { name, clock, log }: UpstreamLookupParts,
): Promise<Fetched<readonly Listing[]>> {
  const found = new Map<string, Listing | undefined>()
  let finish: (problem?: string) => void = () => undefined
  const finished = new Promise<string | undefined>((resolve) => {
    finish = resolve
  })
  const note = (symbol: string, listing: Listing | undefined): void => {
    if (symbols.includes(symbol) && !found.has(symbol)) found.set(symbol, listing)
    if (found.size === symbols.length) finish()
  }
  const connection = new VenueConnection({
    venue: name,
    url,
    prepareHandshake: (signal) => prepareUpstreamHandshake(credentials, clock, signal),
    silenceMilliseconds: LOOKUP_MILLISECONDS_MAX,
    clock,
    random: () => 0,
    log,
    metrics: createMetricsRegistry(),
    onOpen: () => {
      const entries = symbols.map((symbol) => publicationEntry(symbol))
      for (const request of requests('subscribe', entries)) connection.send(request)
    },
    onMessage: (text) => readAnswer(text, note, finish),
    onDown: (reason) => finish(reason),
  })
  connection.start()
  const timer = clock.schedule(LOOKUP_MILLISECONDS_MAX, () => {
    for (const symbol of symbols) note(symbol, listingOf(symbol, undefined, 'LOST'))
  })
  const problem = await finished
  timer.cancel()
  await connection.stop()
  if (problem !== undefined) return { problem }
  return { value: [...found.values()].filter((listing) => listing !== undefined) }
}

function readAnswer(
  text: string,
  note: (symbol: string, listing: Listing | undefined) => void,
  finish: (problem: string) => void,
): void {
  const value = parseJson(text)
  if (isControl(value)) {
    const answer = readControl(value)
    if ('problem' in answer) finish(answer.problem)
    else for (const { market, isSuccess } of answer) if (!isSuccess) note(market, undefined)
    return
  }
  const message = readPublication(value)
  if (message.type === 'problem') finish(`a message breaks a rule: ${problemText(message)}`)
  else if (message.type === 'SNAPSHOT') note(message.market, listingOf(message.market, message.instrument, ''))
  else if (message.type === 'LOST') note(message.market, listingOf(message.market, undefined, message.type))
}

function listingOf(symbol: string, instrument: PublishedInstrument | undefined, lost: string): Listing {
  const { priceDecimals = 0, amountDecimals = 0, state } = instrument ?? {}
  const isOpen = lost === '' && (state === undefined || state === 'OPEN')
  const status = lost === '' ? (state ?? 'OPEN') : lost
  return { symbol, priceDecimals, amountDecimals, status, state: isOpen ? 'open' : 'restricted' }
}
