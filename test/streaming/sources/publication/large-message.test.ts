/** A message that is read in parts has the effect of the same message that is read at once. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { contentHash, hashInParts } from '../../../../src/streaming/ingest/content-hash.ts'
import type { LevelChange, MarketDefinition } from '../../../../src/streaming/market/event.ts'
import { readLargeMessage } from '../../../../src/streaming/sources/publication/large-message.ts'
import { type PublishedMessage, parsePublication } from '../../../../src/streaming/sources/publication/message.ts'
import { PublicationReader } from '../../../../src/streaming/sources/publication/publication-reader.ts'
import type { PublicationStep } from '../../../../src/streaming/sources/publication/publication-step.ts'
import { propertySettings } from '../../../support/property.ts'

const MARKET: MarketDefinition = {
  symbol: 'BTCUSD',
  baseAsset: 'BTC',
  quoteAsset: 'USD',
  priceDecimals: 2,
  amountDecimals: 3,
  depth: 0,
}

function inParts(text: string, markets: readonly MarketDefinition[] = [MARKET]): PublishedMessage {
  const parts = readLargeMessage(Buffer.from(text), () => markets)
  for (;;) {
    const { done, value } = parts.next()
    if (done === true) return value
  }
}

/** What a reader does with the message, and with the UPDATE after it. */
function effect(message: PublishedMessage): unknown {
  if (message.type === 'heartbeat' || message.type === 'problem') return message
  const reader = new PublicationReader({ market: MARKET })
  const steps = [reader.take(message), reader.take(parsePublication(UPDATE) as never)]
  return steps.map((step) => ({ ...step, events: eventsOf(step) }))
}

/** Levels may be in any order. */
function eventsOf({ events }: PublicationStep): unknown[] {
  const sorted = (levels: readonly LevelChange[]) => levels.map((level) => JSON.stringify(level)).sort()
  return events.map((event) => (event.type === 'snapshot' ? { ...event, levels: sorted(event.levels) } : event))
}

const INSTRUMENT = { price_decimals: 2, amount_decimals: 3, state: 'OPEN' }
const TIME = '2026-11-20T12:00:00.123Z'

function textOf(payload: object, seq = 7): string {
  const whole = { market: 'BTCUSD', time: TIME, instrument: INSTRUMENT, ...payload }
  return JSON.stringify({ channel: 'publication', payload: whole, stream: { epoch: 'run', seq } })
}

const UPDATE = textOf({ type: 'UPDATE', instrument: undefined, bids: [{ price: '1.00', amount: '0' }] }, 8)

type Entry = { readonly price?: unknown; readonly amount?: unknown }

/** Of two parts; sorted, shuffled, with a price twice, or with an entry that is wrong at one place. */
const sides = fc
  .record({
    size: fc.integer({ min: 0, max: 2_500 }),
    order: fc.constantFrom<'rising' | 'falling' | 'mixed'>('rising', 'falling', 'mixed'),
    wrong: fc.constantFrom<Entry | undefined>(
      undefined,
      undefined,
      { price: '5.00', amount: '1' },
      { price: '5.001', amount: '1' },
      { price: '5.00' },
      { price: 5, amount: '1' },
      { price: '5.00', amount: '0.000' },
    ),
    place: fc.nat(),
  })
  .map(({ size, order, wrong, place }): Entry[] => {
    const prices = Array.from({ length: size }, (_, index) => (order === 'falling' ? size - index : index + 1))
    if (order === 'mixed') prices.sort((left, right) => ((left * 7_919) % 997) - ((right * 7_919) % 997))
    const entries: Entry[] = prices.map((price) => ({ price: `${price}.00`, amount: `0.${(price % 9) + 1}` }))
    if (wrong !== undefined) entries.splice(place % (size + 1), 0, wrong)
    return entries
  })

it('a large SNAPSHOT is accepted, or refused with the same words, as one that is read at once', () => {
  let refused = 0
  const property = fc.property(sides, sides, fc.constantFrom('SNAPSHOT', 'SNAPSHOT', 'UPDATE'), (bids, asks, type) => {
    const text = textOf({ type, bids, asks })
    const message = inParts(text)
    const whole = parsePublication(text)
    expect(effect(message)).toEqual(effect(whole))
    if (message.type === 'problem') refused++
    if (message.type !== 'SNAPSHOT' || whole.type !== 'SNAPSHOT') return
    const own = message.prepared?.[0]
    if (own?.broken !== undefined) refused++
    const hash = hashInParts(message)
    while (hash.next().done !== true);
    expect(contentHash(message)).toBe(contentHash(whole))
  })
  fc.assert(property, propertySettings(40))
  expect(refused).toBeGreaterThan(3)
})

it('a large message prepares the book in book order, for the current definition of its market', () => {
  const text = textOf({
    type: 'SNAPSHOT',
    bids: [
      { price: '1.00', amount: '1' },
      { price: '2.00', amount: '1' },
    ],
    asks: [{ price: '3.00', amount: '1' }],
  })
  const message = inParts(text)
  if (message.type !== 'SNAPSHOT') throw new Error('no SNAPSHOT')
  expect(message.prepared?.[0]?.levels.map(({ price }) => price)).toEqual([200, 100, 300])
  // A market that was changed meanwhile has another definition, for which nothing is prepared.
  const changed = inParts(text, [{ ...MARKET, priceDecimals: 4 }])
  expect(effect(changed)).toEqual(effect(parsePublication(text)))
})

it.each([
  ['not JSON', Buffer.from('{"channel":')],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
])('a large message that is %s is refused', (rule, bytes) => {
  const parts = readLargeMessage(bytes, () => [])
  expect(parts.next()).toMatchObject({ done: true, value: { type: 'problem', market: undefined, rule: `is ${rule}` } })
})

it('the large-message reader also reads orders, heartbeats and other messages', () => {
  const order = { order_id: '1', side: 'buy', price: '1.00', amount: '2' }
  for (const text of [
    textOf({ type: 'SNAPSHOT', orders: [order] }),
    textOf({ type: 'LOST', reason: 'x' }),
    JSON.stringify({ channel: 'heartbeat', payload: { books: [] } }),
    JSON.stringify({ channel: 'publication', payload: 7 }),
    '[]',
  ]) {
    expect(inParts(text)).toEqual(parsePublication(text))
  }
})
