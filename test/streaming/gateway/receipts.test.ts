/** Receipts in the heartbeats of the extended protocol: which are brought to which session, and how many are signed. */
import { type KeyObject, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { HeldPlans } from '../../../src/access/clients/plans/plan.ts'
import { BID } from '../../../src/streaming/market/event.ts'
import { ReceiptSigner } from '../../../src/streaming/sequencing/receipt-signer.ts'
import { newReceiptIssuer, partsOf, proofOf, type TestReceiptIssuer } from '../../support/receipts.ts'
import { deepBook, LiveStream, type Message } from './live-stream.ts'

const change = (amount: number, price = 100) => [{ side: BID, price, amount }] as const

interface Status {
  readonly market: string
  readonly cursor: string
  readonly live: boolean
  readonly digest?: string
  readonly origin?: string
  readonly receipts?: readonly string[]
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
    const executions = markets.map((market) => ({ type: 'execution_data', params: { market } }))
    const lines = client.ask({ type: 'subscribe', channels: [...books, ...executions, { type: 'heartbeat' }] })
    const read = () => {
      const texts = client.read()
      lines.push(...texts)
      return texts.flatMap((text) => statusesOf(JSON.parse(text) as Message))
    }
    return {
      client,
      lines,
      /** The entries of the heartbeats since the last call. */
      statuses: read,
      /** The receipts since the last call, each with the entry that brought it. */
      receipts: () => read().flatMap((status) => (status.receipts ?? []).map((text) => ({ status, ...partsOf(text) }))),
    }
  }
  return { stream, state, connect }
}

function statusesOf({ channel, payload }: Message): readonly Status[] {
  return channel === 'heartbeat' ? (payload as unknown as { books: readonly Status[] }).books : []
}

const positionOf = (cursor: unknown): number => Number(String(cursor).split('.')[1])

describe('a receipt', () => {
  test('a receipt names the view, its commit and its decimals, and is signed with the key that its header names', () => {
    const { stream, state, connect } = start()
    const { receipts } = connect()
    stream.update(change(15))
    stream.clock.advance(2_000)
    const [{ status, header, payload, signed, signature }] = receipts() as [ReturnType<typeof receipts>[number]]
    expect(header).toEqual({ alg: 'ES256', typ: 'tidegate-receipt-2+jws', kid: 'key-1' })
    expect(payload).toMatchObject({
      iss: 'https://service.test',
      market: 'AAAUSD',
      depth: 5,
      price_decimals: 2,
      amount_decimals: 4,
      cursor: status.cursor,
      time: '2026-01-01T00:00:00.003000000Z',
      updates: { count: 1 },
      executions: { count: 0 },
      origin: status.origin,
    })
    const key = { key: (state.issuer as { publicKey: KeyObject }).publicKey, dsaEncoding: 'ieee-p1363' } as const
    expect(verify('sha256', Buffer.from(signed), key, Buffer.from(signature, 'base64url'))).toBe(true)
  })

  test('receipts are absent in the base protocol, without a key and where they are off', () => {
    const { stream, state, connect } = start()
    state.issuer = undefined
    const { receipts } = connect()
    const base = stream.connect()
    base.ask({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }, { type: 'heartbeat' }],
    })
    stream.clock.advance(3_000)
    expect(receipts()).toEqual([])
    state.issuer = newReceiptIssuer()
    stream.clock.advance(2_000)
    expect(receipts()).toHaveLength(1)
    expect(base.read().join()).not.toContain('receipts')
    const off = new LiveStream({ settings: { heartbeatSeconds: 1 } })
    off.snapshot()
    const client = off.connect({ subprotocol: 'tidegate.v1' })
    client.ask({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }, { type: 'heartbeat' }],
    })
    off.clock.advance(3_000)
    const unsigned = client.read().join()
    expect(unsigned).toContain('digest')
    expect(unsigned).not.toContain('receipts')
  })

  test('a lost and withdrawn book has a receipt too, and so has the one that is restored', () => {
    const { stream, state, connect } = start({ settings: { staleSeconds: 2 } })
    const { receipts, lines, statuses } = connect()
    stream.clock.advance(2_000)
    stream.update(change(15))
    stream.lose()
    stream.clock.advance(1_500)
    expect(receipts().at(-1)?.status).toMatchObject({ live: false })
    stream.clock.advance(3_000)
    stream.snapshot(deepBook(4, 10))
    stream.clock.advance(3_000)
    statuses()
    const list = proofOf(lines, state.issuer as TestReceiptIssuer)
    expect(list.findings).toEqual([])
    expect([list.books, list.updates]).toEqual([
      { covered: 4, total: 4 },
      { covered: 3, total: 3 },
    ])
  })

  test('a receipt follows the key: the next one is signed with the new key', () => {
    const { stream, state, connect } = start()
    const { receipts } = connect()
    stream.clock.advance(2_000)
    expect(receipts().map(({ header }) => header.kid)).toEqual(['key-1'])
    state.issuer = newReceiptIssuer('key-2')
    stream.update(change(15))
    stream.clock.advance(2_000)
    expect(receipts().map(({ header }) => header.kid)).toEqual(['key-2'])
  })
})

describe('receipts', () => {
  test('receipts are signed once per view, for all sessions, and not again while nothing changes', () => {
    const { stream, state, connect } = start()
    const all = [connect(), connect(), connect(), connect({ depth: 1 })]
    stream.clock.advance(10_000)
    expect(state.signed).toBe(2)
    const brought = all.map(({ receipts }) => receipts().map(({ signed }) => signed))
    for (const some of brought) expect(some).toHaveLength(1)
    expect(brought[1]).toEqual(brought[0])
    expect(partsOf(`${brought[3]?.[0]}.`).payload).toMatchObject({ depth: 1 })
  })

  test('a session is brought each receipt once, also with many heartbeats or few, and after a second without any', () => {
    for (const heartbeatSeconds of [0.1, 1, 5]) {
      const { stream, state, connect } = start({ settings: { heartbeatSeconds } })
      const { statuses, lines } = connect()
      for (let step = 1; step <= 1_300; step++) {
        stream.update(change(step))
        stream.clock.advance(9)
        statuses()
      }
      const list = proofOf(lines, state.issuer as TestReceiptIssuer)
      expect(list.findings).toEqual([])
      const seconds = heartbeatSeconds === 5 ? 10 : 13
      expect(list.count).toBeGreaterThanOrEqual(seconds - 1)
      expect(state.signed).toBeLessThanOrEqual(Math.ceil(stream.clock.monotonicMilliseconds() / 1000))
      expect(list.books).toEqual({ covered: list.count, total: list.count })
      expect(list.updates.covered).toBeGreaterThan(80 * (seconds - 2))
    }
  })

  test('full-rate and throttled sessions of one view are brought the same receipts, each about a book that they hold', () => {
    const { stream, connect } = start()
    const sessions = [connect(), ...[50, 100, 250, 500, 1000].map((interval) => connect({ interval_ms: interval }))]
    const brought: string[][] = sessions.map(() => [])
    for (let step = 1; step <= 600; step++) {
      stream.update(change(step))
      stream.clock.advance(9)
      for (const [index, { lines, receipts }] of sessions.entries()) {
        for (const { payload, signed } of receipts()) {
          expect(lines.join()).toContain(`"stream":{"cursor":"${payload.cursor}"`)
          brought[index]?.push(signed)
        }
      }
    }
    expect(brought[0]?.length).toBeGreaterThan(4)
    for (const some of brought) expect(some).toEqual(brought[0])
  })

  test('a client that resumes is brought the receipts since the book it holds, and another one only that of its own book', () => {
    const { stream, state, connect } = start()
    const { client, receipts, lines } = connect()
    stream.update(change(15))
    stream.clock.advance(2_000)
    const cursor = receipts().at(-1)?.payload.cursor
    client.session.end()
    for (let second = 1; second <= 3; second++) {
      stream.update(change(second), [{ price: 100, amount: second }])
      stream.clock.advance(1_000)
    }
    stream.update(change(9))
    const resumed = connect({ resume: cursor })
    const fresh = connect()
    stream.clock.advance(2_500)
    expect(resumed.receipts().map(({ payload }) => positionOf(payload.cursor) - positionOf(cursor))).toEqual([
      0, 1, 2, 3, 4,
    ])
    expect(fresh.receipts().map(({ payload }) => positionOf(payload.cursor) - positionOf(cursor))).toEqual([4])
    const list = proofOf([...lines, ...resumed.lines], state.issuer as TestReceiptIssuer)
    expect(list.findings).toEqual([])
    expect(list.countOf('unreached')).toBe(3)
  })

  test('a client whose plan changes the depth while it waits for a book is brought no receipt from before that book', () => {
    let plans: HeldPlans = []
    const plansOf = ({ clientId }: { readonly clientId: string }) => (clientId === 'bounded' ? plans : [])
    const { stream, connect } = start({ plansOf, settings: { outboxBytesMax: 20_000 } })
    const shallow = connect({ depth: 1 })
    const client = stream.connect({ subprotocol: 'tidegate.v1', kernelBytes: 500, clientId: 'bounded' })
    client.ask({
      type: 'subscribe',
      channels: [{ type: 'market_data', params: { market: 'AAAUSD' } }, { type: 'heartbeat' }],
    })
    stream.clock.advance(2_000)
    client.read()
    // It reads nothing until the changes that it lacks are no longer kept, and no source is live.
    for (let step = 1; step <= 6_000; step++) {
      stream.update(change(step, 9_999_999))
      if (step % 50 === 0) shallow.statuses()
    }
    stream.lose()
    client.read()
    plans = [{ plan: { name: 'shallow', depthMax: 1 }, holder: 'customer', holderId: 'customer' }]
    stream.hub.applyAccess(() => undefined, { all: true, customerIds: new Set(), clientIds: new Set() })
    stream.snapshot(deepBook(4, 10))
    const [snapshot] = client.readMessages()
    expect(snapshot?.payload).toMatchObject({ type: 'SNAPSHOT', bids: [expect.anything()] })
    stream.clock.advance(3_000)
    const brought = client
      .readMessages()
      .flatMap(statusesOf)
      .flatMap(({ receipts = [] }) => receipts.map(partsOf))
    expect(brought.map(({ payload }) => payload.cursor)).toEqual([snapshot?.stream?.cursor])
  })

  test('receipts of one session with many books are signed over several ticks, and none is forgotten', () => {
    const markets = Array.from({ length: 100 }, (_, index) => `M${String(index).padStart(3, '0')}USD`)
    const { stream, state, connect } = start({ markets })
    const { receipts } = connect({}, markets)
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
    stream.clock.advance(3_000)
    const brought = receipts()
    expect(new Set(brought.map(({ status }) => status.market)).size).toBe(100)
    for (const { status, payload } of brought) expect(payload.cursor).toBe(status.cursor)
    expect(state.signed).toBe(100)
    expect(Math.max(...perTick)).toBeLessThanOrEqual(64)
  })
})
