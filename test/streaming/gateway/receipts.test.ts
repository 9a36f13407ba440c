/** Receipts in the heartbeats of the extended protocol: which book they name, who gets which, and how many are signed. */
import { type KeyObject, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { BID } from '../../../src/streaming/market/event.ts'
import { ReceiptSigner } from '../../../src/streaming/sequencing/receipt-signer.ts'
import { newReceiptIssuer, partsOf, type TestReceiptIssuer } from '../../support/receipts.ts'
import { deepBook, LiveStream, type Message } from './live-stream.ts'

const change = (amount: number, price = 100) => [{ side: BID, price, amount }] as const

interface Status {
  readonly market: string
  readonly cursor: string
  readonly live: boolean
  readonly digest?: string
  readonly origin?: string
  readonly receipt?: string
}

function start(options: ConstructorParameters<typeof LiveStream>[0] = {}) {
  const state: { issuer: TestReceiptIssuer | undefined; signed: number } = { issuer: newReceiptIssuer(), signed: 0 }
  const stream = new LiveStream({
    ...options,
    settings: { heartbeatSeconds: 1, ...options.settings },
    receipts: (clock) =>
      new ReceiptSigner({
        clock,
        current: () => state.issuer,
        onSigned() {
          state.signed += 1
        },
      }),
  })
  for (const symbol of options.markets ?? ['AAAUSD']) stream.snapshot(deepBook(3, 10), symbol)
  const connect = (params: object = {}, markets = ['AAAUSD']) => {
    const client = stream.connect({ subprotocol: 'tidegate.v1' })
    const books = markets.map((market) => ({ type: 'market_data', params: { market, ...params } }))
    const taken: Message[] = []
    const read = () => {
      const messages = client.readMessages() as Message[]
      taken.push(...messages)
      return messages
    }
    taken.push(
      ...client
        .ask({ type: 'subscribe', channels: [...books, { type: 'heartbeat' }] })
        .map((text) => JSON.parse(text) as Message),
    )
    return {
      client,
      taken,
      /** The entries of the heartbeats since the last call. */
      statuses: () => read().flatMap(statusesOf),
    }
  }
  return { stream, state, connect }
}

function statusesOf({ channel, payload }: Message): readonly Status[] {
  return channel === 'heartbeat' ? (payload as unknown as { books: readonly Status[] }).books : []
}

describe('a receipt', () => {
  test('a receipt names the book of its entry, its commit and its decimals, and is signed with the key that its header names', () => {
    const { stream, state, connect } = start()
    const { statuses } = connect()
    stream.update(change(15))
    stream.clock.advance(1_000)
    const status = statuses().at(-1) as Status
    const { header, payload, signed, signature } = partsOf(status.receipt)
    expect(header).toEqual({ alg: 'ES256', typ: 'tidegate-receipt+jws', kid: 'key-1' })
    expect(payload).toEqual({
      iss: 'https://service.test',
      market: 'AAAUSD',
      depth: 5,
      price_decimals: 2,
      amount_decimals: 4,
      cursor: status.cursor,
      time: '2026-01-01T00:00:00.003000000Z',
      digest: status.digest,
      origin: status.origin,
    })
    const key = { key: (state.issuer as { publicKey: KeyObject }).publicKey, dsaEncoding: 'ieee-p1363' } as const
    expect(verify('sha256', Buffer.from(signed), key, Buffer.from(signature, 'base64url'))).toBe(true)
  })

  test('a receipt is absent while the market is not live, in the base protocol, without a key and where they are off', () => {
    const { stream, state, connect } = start()
    const { statuses } = connect()
    const base = stream.connect()
    base.ask({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }, { type: 'heartbeat' }],
    })
    stream.clock.advance(1_000)
    expect(statuses().at(-1)?.receipt).toBeDefined()
    expect(base.read().join()).not.toContain('receipt')
    stream.lose()
    stream.clock.advance(1_000)
    const lost = statuses().at(-1)
    expect(lost).toMatchObject({ live: false })
    expect(lost).not.toHaveProperty('receipt')
    stream.snapshot(deepBook(4, 10))
    state.issuer = undefined
    stream.clock.advance(2_000)
    // The receipt of the last key is still that of an earlier book.
    expect(partsOf(statuses().at(-1)?.receipt).payload.cursor).toMatch(/\.1$/)
    expect(state.signed).toBe(1)
    const off = new LiveStream({ settings: { heartbeatSeconds: 1 } })
    off.snapshot()
    const client = off.connect({ subprotocol: 'tidegate.v1' })
    client.ask({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }, { type: 'heartbeat' }],
    })
    off.clock.advance(1_000)
    const unsigned = client.read().join()
    expect(unsigned).toContain('digest')
    expect(unsigned).not.toContain('receipt')
  })

  test('a receipt follows the key: the next one is signed with the new key', () => {
    const { stream, state, connect } = start()
    const { statuses } = connect()
    stream.clock.advance(1_000)
    expect(partsOf(statuses().at(-1)?.receipt).header.kid).toBe('key-1')
    state.issuer = newReceiptIssuer('key-2')
    stream.update(change(15))
    stream.clock.advance(1_000)
    expect(partsOf(statuses().at(-1)?.receipt).header.kid).toBe('key-2')
  })
})

describe('signatures', () => {
  test('receipts are signed once per view and version, for all sessions, and not again while nothing changes', () => {
    const { stream, state, connect } = start()
    const all = [connect(), connect(), connect(), connect({ depth: 1 })]
    stream.clock.advance(10_000)
    expect(state.signed).toBe(2)
    const receipts = all.map(({ statuses }) => new Set(statuses().map(({ receipt }) => receipt)))
    for (const some of receipts) expect(some.size).toBe(1)
    expect(receipts[1]).toEqual(receipts[0])
    expect(receipts[3]).not.toEqual(receipts[0])
    expect(partsOf([...(receipts[3] as Set<string>)][0]).payload).toMatchObject({ depth: 1 })
  })

  test('receipts are signed at most once per second and view, however many sessions and heartbeats there are', () => {
    const { stream, state, connect } = start({ settings: { heartbeatSeconds: 0.1 } })
    const all = Array.from({ length: 8 }, () => connect())
    for (let step = 1; step <= 500; step++) {
      stream.update(change(step))
      stream.clock.advance(9)
      for (const { statuses } of all) statuses()
    }
    const seconds = stream.clock.monotonicMilliseconds() / 1000
    expect(seconds).toBeGreaterThan(5)
    expect(state.signed).toBeLessThanOrEqual(Math.ceil(seconds))
    expect(state.signed).toBeGreaterThanOrEqual(5)
    for (const { taken } of all) expectOwnMessages(taken)
  })

  test('throttled and current sessions of one view each get the latest receipt that is not later than their book', () => {
    const { stream, connect } = start()
    const sessions = [connect(), connect({ interval_ms: 500 })]
    const entries: Status[][] = [[], []]
    for (let step = 1; step <= 600; step++) {
      stream.update(change(step))
      stream.clock.advance(9)
      for (const [index, { statuses }] of sessions.entries()) entries[index]?.push(...statuses())
    }
    for (const all of entries) {
      expect(all.length).toBeGreaterThan(4)
      for (const { cursor, receipt } of all.slice(1)) {
        const own = partsOf(receipt).payload.cursor as string
        expect(positionOf(own)).toBeLessThanOrEqual(positionOf(cursor))
        // At most two seconds of commits, with one per 10 ms or so.
        expect(positionOf(own)).toBeGreaterThan(positionOf(cursor) - 230)
      }
    }
  })

  test('receipts of one session with many books are signed over several ticks, and none is forgotten', () => {
    const markets = Array.from({ length: 100 }, (_, index) => `M${String(index).padStart(3, '0')}USD`)
    const { stream, state, connect } = start({ markets })
    const { statuses } = connect({}, markets)
    const perTick: number[] = []
    let before = state.signed
    const note = () => {
      perTick.push(state.signed - before)
      before = state.signed
    }
    const { endOfTick } = stream.clock
    stream.clock.endOfTick = (callback) =>
      endOfTick.call(stream.clock, () => {
        note()
        callback()
      })
    stream.clock.advance(1_000)
    const first = statuses().filter(({ receipt }) => receipt !== undefined)
    expect(first.length).toBeLessThan(100)
    expect(first.length).toBeGreaterThan(0)
    stream.clock.advance(1_000)
    const second = statuses()
    expect(second).toHaveLength(100)
    for (const { cursor, receipt } of second) expect(partsOf(receipt).payload.cursor).toBe(cursor)
    expect(state.signed).toBe(100)
    expect(Math.max(...perTick)).toBeLessThanOrEqual(64)
  })
})

function positionOf(cursor: string): number {
  return Number(cursor.split('.')[1])
}

/** Every receipt names a message of the session that came before it. */
function expectOwnMessages(messages: readonly Message[]): void {
  const cursors = new Set<string>()
  for (const message of messages) {
    if (message.stream !== undefined) cursors.add(message.stream.cursor)
    for (const { receipt } of statusesOf(message)) {
      if (receipt !== undefined) expect(cursors).toContain(partsOf(receipt).payload.cursor)
    }
  }
  expect(cursors.size).toBeGreaterThan(1)
}
