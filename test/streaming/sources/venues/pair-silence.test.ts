import { describe, expect, it } from 'vitest'
import { readBinanceMessage } from '../../../../src/streaming/sources/venues/binance/message.ts'
import { OkxBook } from '../../../../src/streaming/sources/venues/okx/book.ts'
import { readOkxMessage } from '../../../../src/streaming/sources/venues/okx/message.ts'
import { PairSilence } from '../../../../src/streaming/sources/venues/pair-silence.ts'
import type { VenueMessage } from '../../../../src/streaming/sources/venues/venue.ts'
import { capturesMissing, receivedFrames } from '../../../support/captures.ts'
import { krakenBtcUsd, krakenEthUsd, krakenFloats, krakenRecordingsMissing } from '../../../support/recordings.ts'

const BEST = { bid: 100, ask: 101 }

/** A book that had a message every `gap` milliseconds for some time, the last of them at 0. */
function usual(gap: number, milliseconds = 120_000): PairSilence {
  const silence = new PairSilence(-milliseconds)
  for (let now = -milliseconds + gap; now <= 0; now += gap) silence.book(now)
  return silence
}

describe('a trade past a price that the book still shows', () => {
  it.each([
    ['above the best ask', 102],
    ['below the best bid', 99],
  ])('a trade %s proves the book wrong after 2 s without a book message', (_name, price) => {
    const silence = usual(50)
    silence.trade(1_000, price, String(price), BEST)
    expect(silence.check(2_999)).toBeUndefined()
    expect(silence.due).toBe(3_000)
    expect(silence.check(3_000)).toEqual({
      kind: 'wrong',
      reason: `trades at ${price}, which the book does not show`,
    })
  })

  it.each([
    ['with a book message within the second before it', (silence: PairSilence) => silence.trade(999, 102, '102', BEST)],
    [
      'with a book message behind it',
      (silence: PairSilence) => {
        silence.trade(1_500, 102, '102', BEST)
        silence.book(3_000)
      },
    ],
  ])('a trade past a price that the book still shows proves nothing %s', (_name, happen) => {
    const silence = usual(50)
    happen(silence)
    expect(silence.check(10_000)).toBeUndefined()
  })

  it.each([
    ['at the best ask', 101, BEST],
    ['between the best prices', 100.5, BEST],
    ['that cannot be compared', undefined, BEST],
    ['where levels are not followed', 500, {}],
  ])('a trade %s is only suspicious, after 3 s', (_name, price, best) => {
    const silence = usual(50)
    silence.trade(1_000, price, '1', best)
    expect(silence.check(3_999)).toBeUndefined()
    expect(silence.check(4_000)).toEqual({ kind: 'suspicious', reason: 'trades, and no book message for 4 s' })
    expect(silence.check(4_001)).toBeUndefined()
  })
})

describe('a silence', () => {
  it('a silence is suspicious after 15 s where messages come all the time, then after twice as long, and so on', () => {
    const silence = usual(50)
    expect(silence.check(14_999)).toBeUndefined()
    expect(silence.due).toBe(15_000)
    expect(silence.check(15_000)).toEqual({ kind: 'suspicious', reason: 'no book message for 15 s' })
    expect(silence.due).toBe(30_000)
    expect(silence.check(30_000)).toMatchObject({ kind: 'suspicious' })
    expect(silence.due).toBe(60_000)
    silence.book(31_000)
    expect(silence.due).toBeGreaterThanOrEqual(31_000 + 15_000)
  })

  it('a silence is healthy up to four times the longest gap of the last ten minutes', () => {
    const silence = usual(50)
    silence.book(14_000)
    for (let now = 14_050; now <= 200_000; now += 50) silence.book(now)
    expect(silence.due).toBe(200_000 + 56_000)
    for (let now = 200_050; now <= 700_000; now += 50) silence.book(now)
    expect(silence.due).toBe(700_000 + 15_000)
  })

  it.each([
    ['of a quiet book', () => usual(2_000)],
    ['of a book that is not known yet', () => usual(50, 2_000)],
    ['after a burst of a book that is not known yet', () => usual(5, 50_000)],
    ['of a book that never had a message', () => new PairSilence(0)],
  ])('a silence %s raises no doubt', (_name, make) => {
    expect(make().due).toBe(Number.POSITIVE_INFINITY)
  })

  it('a silence of a suspicious book is checked again by trades when it has doubled', () => {
    const silence = usual(50)
    silence.trade(1_000, 101, '101', BEST)
    expect(silence.check(4_000)).toMatchObject({ kind: 'suspicious' })
    silence.trade(5_000, 101, '101', BEST)
    expect(silence.due).toBe(30_000)
    silence.trade(6_000, 102, '102', BEST)
    expect(silence.check(8_000)).toMatchObject({ kind: 'wrong' })
  })
})

/** What a recording says of one pair, in order. */
interface Heard {
  readonly at: number
  readonly message: Extract<VenueMessage<unknown>, { readonly kind: 'book' | 'trades' }>
}

/** Every message of each pair, by pair. */
function heardOf(file: string, read: (text: string) => readonly VenueMessage<unknown>[]): Map<string, Heard[]> {
  const pairs = new Map<string, Heard[]>()
  for (const { milliseconds: at, text } of receivedFrames(file)) {
    for (const message of read(text)) {
      if (message.kind !== 'book' && message.kind !== 'trades') continue
      pairs.set(message.symbol, [...(pairs.get(message.symbol) ?? []), { at, message }])
    }
  }
  return pairs
}

/** Asks for a verdict whenever one is due before `now`. */
function verdictsUntil(silence: PairSilence, now: number): string[] {
  const verdicts: string[] = []
  while (silence.due <= now) verdicts.push(silence.check(silence.due)?.reason ?? 'due, and nothing')
  return verdicts
}

/** What is held against the book of a pair of a recording; its book messages after `silentFrom` are lost. */
function checkRecording(heard: readonly Heard[], silentFrom = Number.POSITIVE_INFINITY, until?: number): string[] {
  const silence = new PairSilence(heard[0]?.at ?? 0)
  const verdicts: string[] = []
  for (const { at, message } of heard) {
    verdicts.push(...verdictsUntil(silence, at))
    if (message.kind === 'book') {
      if (at < silentFrom) silence.book(at)
    } else {
      for (const { price } of message.trades) silence.trade(at, undefined, price, {})
    }
  }
  return until === undefined ? verdicts : [...verdicts, ...verdictsUntil(silence, until)]
}

const BINANCE = 'BINANCE.ws.1.0'
const COINBASE = 'COINBASE.ws.28.0.gz'
const OKX = 'OKX.ws.1.0.gz'

/** The frames of the older feed, of which only the times and the pairs matter here. */
function readCoinbase(text: string): readonly VenueMessage<unknown>[] {
  const { type, product_id: symbol, price = '' } = JSON.parse(text) as Record<'type' | 'product_id' | 'price', string>
  if (type === 'l2update' || type === 'snapshot') return [{ kind: 'book', symbol, data: undefined }]
  if (type !== 'match') return []
  const trade = { firstId: 0, lastId: 0, price, amount: '1', executedAtMilliseconds: 0 }
  return [{ kind: 'trades', symbol, isRepeat: false, trades: [trade] }]
}

describe.skipIf(capturesMissing(BINANCE, COINBASE, OKX))('recordings of healthy books (needs venue recordings)', () => {
  it.each([
    ['Binance', BINANCE, (text: string) => readBinanceMessage(text, () => undefined), 4],
    ['Coinbase', COINBASE, readCoinbase, 10],
    ['OKX', OKX, readOkxMessage, 3],
  ] as const)('recordings of healthy books of %s raise no suspicion', (_name, file, read, count) => {
    const pairs = heardOf(file, read)
    expect(pairs.size).toBe(count)
    for (const [symbol, heard] of pairs) expect([symbol, checkRecording(heard)]).toEqual([symbol, []])
  })

  it('a silence alarm follows within 5 s when an active book of a healthy recording goes silent', () => {
    const pairs = [...heardOf(COINBASE, readCoinbase), ...heardOf(OKX, readOkxMessage)]
    let found = 0
    for (const symbol of ['SKL-USD', 'BTC-USDT']) {
      const heard = pairs.find(([name]) => name === symbol)?.[1] ?? []
      const begin = heard[0]?.at ?? 0
      for (let after = 2_000; begin + after + 5_000 < (heard.at(-1)?.at ?? 0); after += 500) {
        const silentFrom = begin + after
        const within = heard.filter(({ at }) => at <= silentFrom + 5_000)
        // Only trades can tell so soon.
        const isTraded = within.some(
          ({ at, message }) => message.kind === 'trades' && at >= silentFrom + 1_000 && at <= silentFrom + 2_000,
        )
        if (!isTraded) continue
        expect([symbol, after, checkRecording(within, silentFrom, silentFrom + 5_000).length]).toEqual([
          symbol,
          after,
          1,
        ])
        found += 1
      }
    }
    expect(found).toBeGreaterThan(20)
  })

  it('recordings of healthy books have no trade that the true book contradicts: OKX, price by price', () => {
    const listing = { symbol: 'BTC-USDT', priceDecimals: 1, amountDecimals: 8, status: 'live', state: 'open' } as const
    const book = new OkxBook({ listing, depth: 400, priceMaximum: Number.MAX_SAFE_INTEGER })
    let silence: PairSilence | undefined
    for (const { milliseconds: at, text } of receivedFrames(OKX)) {
      for (const message of readOkxMessage(text)) {
        if (!('symbol' in message) || message.symbol !== 'BTC-USDT') continue
        if (silence !== undefined) expect(verdictsUntil(silence, at)).toEqual([])
        if (message.kind === 'book') {
          book.apply(message.data)
          silence ??= new PairSilence(at)
          silence.book(at)
        } else if (message.kind === 'trades') {
          for (const { price } of message.trades) silence?.trade(at, Math.round(Number(price) * 10), price, book.best)
        }
      }
    }
  })
})

describe.skipIf(krakenRecordingsMissing)('recordings of healthy books of Kraken (needs venue recordings)', () => {
  it.each([
    ['BTC/USD', krakenBtcUsd],
    ['ETH/USD', krakenEthUsd],
    ['BTC/USD once more', krakenFloats],
  ])('recordings of healthy books of Kraken of %s raise no suspicion', (_name, recording) => {
    const { frames } = recording()
    const silence = new PairSilence(0)
    for (const { milliseconds, text } of frames) {
      expect(verdictsUntil(silence, milliseconds)).toEqual([])
      if (text.includes('"channel":"book"') && text.includes('"data"')) silence.book(milliseconds)
    }
  })
})
