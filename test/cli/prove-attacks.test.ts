/**
 * Attacks on `prove`: files that a person changed, with all cursors made to fit, and receipts from elsewhere. Each is
 * refused by name, or the numbers say that what was changed is not proven.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type BookSide, NaiveBook } from '../../src/conformance/judge/naive-book.ts'
import { hashedBook } from '../../src/conformance/judge/receipts/hashed-book.ts'
import type { ReceiptList } from '../../src/conformance/judge/receipts/receipt-list.ts'
import { Random } from '../support/random.ts'
import { claimsOf, EXECUTIONS, issuer, linesOf, receiptsOf, received } from '../support/receipted-stream.ts'
import { partsOf, proofOf, signReceipt } from '../support/receipts.ts'

/** A message of the extended protocol whose members an attacker may change. */
interface Frame {
  channel?: string
  payload: Record<string, unknown> & { bids?: Level[]; asks?: Level[] }
  stream: { cursor: string; prev?: string; covers: number }
}

interface Level {
  price: string
  amount: string
}

const MARKET = 'AAAUSD'
const [lines] = received([{}]) as [string[]]
const all = receiptsOf(lines)
const honest = proofOf(lines, issuer)

const namesOf = ({ findings }: ReceiptList) => findings.map(({ name }) => name)
const prove = (changed: readonly string[]) => proofOf(changed, issuer)

/** The numbers of the market's UPDATE and execution lines. */
const updates = placesOf('market_data').filter((place) => (lines[place] as string).includes('"UPDATE"'))
const executions = placesOf('execution_data')

function placesOf(channel: string): number[] {
  const found = new Set(linesOf(lines, channel, MARKET))
  return lines.flatMap((line, place) => (found.has(line) ? [place] : []))
}

function edited(place: number, edit: (frame: Frame) => void, from: readonly string[] = lines): string[] {
  const frame = JSON.parse(from[place] as string) as Frame
  edit(frame)
  return from.with(place, JSON.stringify(frame))
}

const cursorAt = (place: number): string => (JSON.parse(lines[place] as string) as Frame).stream.cursor

/** The lines without one message; the next one of its channel names the one before it. */
function dropped(places: readonly number[], index: number): string[] {
  const [place, next] = [places[index] as number, places[index + 1] as number]
  const before = cursorAt(places[index - 1] as number)
  return edited(next, ({ stream }) => Object.assign(stream, { prev: before })).toSpliced(place, 1)
}

/** The lines with one more message after another one; the next one of its channel names it. */
function invented(places: readonly number[], index: number, edit: (frame: Frame) => void): string[] {
  const place = places[index] as number
  const cursor = `${cursorAt(place)}9`
  const more = edited(place, (frame) => {
    frame.stream = { cursor, prev: cursorAt(place), covers: 1 }
    edit(frame)
  })[place] as string
  const next = places[index + 1]
  const changed = next === undefined ? lines : edited(next, ({ stream }) => Object.assign(stream, { prev: cursor }))
  return changed.toSpliced(place + 1, 0, more)
}

describe('a false book with the right digest', () => {
  const fixture = JSON.parse(readFileSync(join(import.meta.dirname, 'forged-book.json'), 'utf8')) as Record<
    'honest' | 'forged',
    Record<BookSide, [string, string][]>
  >
  const bookOf = (name: 'honest' | 'forged') => {
    const book = new NaiveBook()
    for (const side of ['bids', 'asks'] as const) {
      for (const [price, amount] of fixture[name][side]) book.set(side, price, amount)
    }
    return book
  }
  const snapshotOf = (name: 'honest' | 'forged') => {
    const sides = ['bids', 'asks'] as const
    const levels = sides.map((side) => [side, fixture[name][side].map(([price, amount]) => ({ price, amount }))])
    const payload = {
      market: MARKET,
      type: 'SNAPSHOT',
      time: '2026-01-01T00:00:00.000Z',
      ...Object.fromEntries(levels),
    }
    return JSON.stringify({ channel: 'market_data', payload, stream: { cursor: 'c.1', covers: 0 } })
  }

  it('a book with a false best ask whose digest was balanced by eight deep levels is refused', () => {
    expect(bookOf('forged').digest()).toBe(bookOf('honest').digest())
    const receipt = signReceipt(issuer, {
      ...claimsOf(all[0] as string),
      market: MARKET,
      depth: 10,
      price_decimals: 2,
      amount_decimals: 8,
      cursor: 'c.1',
      time: '2026-01-01T00:00:00.000000000Z',
      book: hashedBook(bookOf('honest')).sha256,
    })
    const heartbeat = JSON.stringify({
      channel: 'heartbeat',
      payload: { books: [{ market: MARKET, receipts: [receipt] }] },
    })
    expect(namesOf(prove([snapshotOf('honest'), heartbeat]))).toEqual([])
    expect(namesOf(prove([snapshotOf('forged'), heartbeat]))).toEqual(['book-differs'])
  })
})

describe('executions of a session that was subscribed throughout', () => {
  it.each<[string, string]>([
    ['price', '1.00'],
    ['amount', '9.9999'],
    ['executed_at', '2026-01-01T00:00:00.001Z'],
    ['id', 'another'],
    ['side', 'buy'],
    ['venue', 'another'],
  ])('an execution with another %s is found', (member, value) => {
    for (const place of [executions[0], executions[10], executions.at(-1)] as number[]) {
      const changed = edited(place, ({ payload }) => Object.assign(payload, { [member]: value }))
      expect(namesOf(prove(changed))).toEqual(['executions-differ'])
    }
  })

  it('a dropped execution is found although the next one names the one before it, and so is the last one', () => {
    expect(namesOf(prove(dropped(executions, 10)))).toContain('executions-differ')
    expect(namesOf(prove(lines.toSpliced(executions.at(-1) as number, 1)))).toContain('execution-missing')
    expect(namesOf(prove(lines.toSpliced(executions[10] as number, 1)))).toContain('execution-missing')
  })

  it('an execution without a predecessor is found as missing ones where no answer began a subscription', () => {
    const changed = edited(executions[11] as number, ({ stream }) => {
      delete stream.prev
    }).toSpliced(executions[10] as number, 1)
    expect(namesOf(prove(changed))).toContain('execution-missing')
  })

  it('an invented execution is found in the middle, at the beginning and at the end of the file', () => {
    const edit = ({ payload }: Frame) => Object.assign(payload, { id: 'invented' })
    for (const index of [0, 10])
      expect(namesOf(prove(invented(executions, index, edit)))).toEqual(['executions-differ'])
    // No execution comes after the last one, but receipts do.
    const [quiet] = received([{}], 150) as [string[]]
    const last = quiet.findLastIndex((line) => line.startsWith('{"channel":"execution_data"') && line.includes(MARKET))
    const more = edited(
      last,
      ({ payload, stream }) => {
        payload.id = 'invented'
        Object.assign(stream, { prev: stream.cursor, cursor: `${stream.cursor}9` })
      },
      quiet,
    )[last] as string
    expect(namesOf(prove(quiet))).toEqual([])
    expect(namesOf(prove(quiet.toSpliced(last + 1, 0, more)))).toContain('execution-unsigned')
  })

  it('executions in another order are found', () => {
    const [first, second] = [executions[10], executions[11]] as [number, number]
    const swapped = lines.with(first, lines[second] as string).with(second, lines[first] as string)
    expect(prove(swapped).findings).not.toEqual([])
  })

  it('executions that are hidden behind an invented subscription are counted as not proven', () => {
    const answer = JSON.stringify({
      type: 'subscribe',
      channels: [{ type: 'execution_data', params: { market: MARKET }, success: true }],
    })
    const place = executions[10] as number
    const changed = edited(executions[11] as number, ({ stream }) => {
      delete stream.prev
    }).with(place, answer)
    const list = prove(changed)
    expect(namesOf(list)).toEqual([])
    expect(list.executionWindows.covered).toBeLessThan(list.executionWindows.total)
  })

  it('a file without its executions has no proven window', () => {
    const list = prove(lines.filter((line) => !line.includes('"execution_data"') || line.startsWith('{"type"')))
    expect([list.executions, list.executionWindows.covered]).toEqual([{ covered: 0, total: 0 }, 0])
    expect(list.executionWindows.total).toBe(honest.executionWindows.total)
  })
})

describe('levels between two receipts', () => {
  /** A false ask that is there for one message, between two receipts. */
  function flash(from: readonly string[], places: readonly number[], covers?: number): string[] {
    const receipted = new Set(receiptsOf(from).map((receipt) => claimsOf(receipt).cursor))
    const cursorOf = (place: number) => (JSON.parse(from[place] as string) as Frame).stream.cursor
    const index = places.findIndex((place, at) => at > 5 && !receipted.has(cursorOf(place)))
    const [first, second] = [places[index], places[index + 1]] as [number, number]
    const set = (amount: string) => (frame: Frame) => {
      frame.payload.asks?.unshift({ price: '1.23', amount })
      frame.stream.covers = covers ?? frame.stream.covers
    }
    return edited(second, set('0'), edited(first, set('9.9999'), from))
  }

  it('a level that was there for one message is found in the messages of a full-rate session', () => {
    expect(namesOf(prove(flash(lines, updates)))).toEqual(['updates-differ'])
  })

  it('the same level is counted as not proven where the messages say that they were conflated', () => {
    const list = prove(flash(lines, updates, 2))
    expect(namesOf(list)).toEqual([])
    expect(list.updates.covered).toBeLessThan(honest.updates.covered)
    expect(list.books.covered).toBe(all.length)
  })

  it('the same level is counted as not proven in the messages of a throttled session', () => {
    const [throttled] = received([{ params: { interval_ms: 250 } }]) as [string[]]
    const own = linesOf(throttled, 'market_data', MARKET).filter((line) => line.includes('"UPDATE"'))
    const places = own.map((line) => throttled.indexOf(line))
    const before = prove(throttled)
    const list = prove(flash(throttled, places))
    expect(namesOf(list)).toEqual([])
    expect(list.updates).toEqual(before.updates)
    expect(list.updates.covered).toBeLessThan(list.updates.total)
  })

  it('UPDATEs with another time, one left out and one invented are found', () => {
    const later = edited(updates[20] as number, ({ payload }) =>
      Object.assign(payload, { time: '2026-01-01T00:00:00.000Z' }),
    )
    expect(namesOf(prove(later))).toContain('updates-differ')
    expect(namesOf(prove(dropped(updates, 20)))).toContain('updates-differ')
    const edit = ({ payload }: Frame) =>
      Object.assign(payload, { bids: [{ price: '1.00', amount: '1.0000' }], asks: [] })
    expect(namesOf(prove(invented(updates, 20, edit)))).toContain('updates-differ')
  })

  it('UPDATEs that are replaced with SNAPSHOTs of true books are missing from the windows', () => {
    const at = new Map(updates.map((place) => [cursorAt(place), place]))
    const ends = all.map(claimsOf).filter(({ market }) => market === MARKET)
    const [from, to] = [3, 4].map((index) => at.get(ends[index]?.cursor as string) as number) as [number, number]
    const book = new NaiveBook()
    for (const line of linesOf(lines.slice(0, to + 1), 'market_data', MARKET)) {
      const { payload } = JSON.parse(line) as Frame
      for (const side of ['bids', 'asks'] as const) {
        for (const { price, amount } of payload[side] ?? []) book.set(side, price, amount)
      }
    }
    const snapshot = edited(to, ({ payload, stream }) => {
      Object.assign(payload, { type: 'SNAPSHOT', bids: book.levels('bids'), asks: book.levels('asks') })
      stream.covers = 0
    })
    const list = prove(snapshot.filter((_, place) => place <= from || place >= to || !updates.includes(place)))
    expect(namesOf(list)).toEqual([])
    expect(list.updates.covered).toBe(list.updates.total)
    expect(list.updateWindows.covered).toBe(honest.updateWindows.covered - 1)
    expect([honest.updateWindows.covered, list.updateWindows.total]).toEqual(Array(2).fill(honest.updateWindows.total))
  })

  it('a false SNAPSHOT between two receipts, and a true one after it, are counted as not proven', () => {
    const place = updates[20] as number
    const more = edited(place, ({ payload, stream }) => {
      Object.assign(payload, { type: 'SNAPSHOT', bids: [{ price: '1.00', amount: '1.0000' }], asks: [] })
      Object.assign(stream, { cursor: 'false.1', covers: 0 })
    })[place] as string
    const list = prove([...lines, more])
    expect(namesOf(list)).toEqual(['time-order'])
    expect(list.snapshots).toEqual({ covered: honest.snapshots.covered, total: honest.snapshots.total + 1 })
  })

  it('no message is counted as proven after any change to its levels, however its stream member is changed', () => {
    const random = new Random(7)
    for (let round = 0; round < 150; round++) {
      const place = random.pick(updates)
      const changed = edited(place, ({ payload, stream }) => {
        const levels = [...(payload.bids ?? []), ...(payload.asks ?? [])]
        const level = random.pick(levels)
        level.amount = level.amount === '0' ? '0.0007' : random.pick(['0', '7.0007'])
        if (random.chance(0.5)) stream.covers = random.integer(4)
        if (random.chance(0.2)) delete stream.prev
        if (random.chance(0.2)) payload.type = 'SNAPSHOT'
      })
      const list = prove(changed)
      const isLess = list.updates.covered < honest.updates.covered
      expect(list.findings.length > 0 || isLess, `line ${place}`).toBe(true)
    }
  })
})

/** The last character has four bits that are no part of the signature. */
function withOtherBits(receipt: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return receipt.slice(0, -1) + alphabet[alphabet.indexOf(receipt.slice(-1)) ^ 1]
}

/** With (r, s), (r, n - s) is valid too, where n is the order of P-256. */
function withNegatedHalf(receipt: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const { signed, signature } = partsOf(receipt)
  const hex = Buffer.from(signature, 'base64url').toString('hex')
  const negated = (order - BigInt(`0x${hex.slice(64)}`)).toString(16).padStart(64, '0')
  return `${signed}.${Buffer.from(hex.slice(0, 64) + negated, 'hex').toString('base64url')}`
}

describe('receipts from elsewhere', () => {
  const replaced = (receipt: string, by: string) => lines.map((line) => line.replaceAll(receipt, by))
  const last = all.at(-1) as string

  it('a receipt from an earlier time in place of another one is refused', () => {
    const early = { ...claimsOf(last), cursor: 'c.9', time: '2025-12-31T00:00:00.000000000Z' }
    expect(namesOf(prove(replaced(last, signReceipt(issuer, early))))).toEqual(['cursor-unknown'])
  })

  it('a receipt that is repeated in place of a later one is found, and the messages of the later one are not counted', () => {
    const ofMarket = all.filter((receipt) => claimsOf(receipt).market === MARKET)
    const list = prove(replaced(ofMarket[3] as string, ofMarket[0] as string))
    expect(namesOf(list)).toEqual(['receipt-repeated'])
    expect(list.count).toBe(all.length - 1)
    expect(list.updates.covered).toBeLessThan(honest.updates.covered)
    expect(list.executions.covered).toBeLessThan(EXECUTIONS)
  })

  it.each([
    ['other spare bits', withOtherBits],
    ['the negated half', withNegatedHalf],
  ])('a receipt whose signature is written with %s is the same receipt', (_name, rewrite) => {
    const ofMarket = all.filter((receipt) => claimsOf(receipt).market === MARKET)
    const [first, later] = [ofMarket[0] as string, ofMarket[3] as string]
    const repeated = prove(replaced(later, rewrite(first)))
    expect(namesOf(repeated)).toEqual(['receipt-repeated'])
    expect([repeated.count, repeated.books.covered]).toEqual([all.length - 1, all.length - 1])
    const doubled = prove(replaced(later, `${later}","${rewrite(later)}`))
    expect([doubled.books, doubled.executionWindows, doubled.updateWindows]).toEqual([
      honest.books,
      honest.executionWindows,
      honest.updateWindows,
    ])
  })

  it('with half of its receipts a file is proven by half', () => {
    const kept = lines.map((line) =>
      all.filter((_, place) => place % 4 < 2).reduce((text, receipt) => text.replaceAll(`"${receipt}"`, '""'), line),
    )
    const list = prove(kept.map((line) => line.replaceAll('"",', '').replaceAll(',""', '').replaceAll('""', '')))
    expect(namesOf(list)).toEqual([])
    expect(list.updates.covered).toBeLessThan(0.7 * honest.updates.covered)
    expect(list.executions.covered).toBeLessThan(0.8 * EXECUTIONS)
  })

  it('two receipts with one cursor and depth and two books are reported as two books of the operator', () => {
    const other = signReceipt(issuer, { ...claimsOf(last), book: 'A'.repeat(43) })
    const heartbeat = JSON.stringify({
      channel: 'heartbeat',
      payload: { books: [{ market: claimsOf(last).market, receipts: [other] }] },
    })
    const list = prove([...lines, heartbeat])
    expect(namesOf(list)).toEqual(['books-equivocal', 'book-differs'])
    expect(list.findings[0]?.examples[0]).toContain(claimsOf(last).book)
    // Another commit of the same book's windows is no contradiction.
    const { updates: window } = claimsOf(last)
    const same = signReceipt(issuer, { ...claimsOf(last), updates: { ...window, after: 'c.1' } })
    expect(namesOf(prove(replaced(last, same)))).toEqual([])
  })

  it('two receipts with one window and two hashes of its executions are reported as a contradiction', () => {
    const claims = claimsOf(all.find((receipt) => claimsOf(receipt).executions.count > 0) as string)
    const other = signReceipt(issuer, { ...claims, executions: { ...claims.executions, sha256: 'A'.repeat(43) } })
    const heartbeat = JSON.stringify({
      channel: 'heartbeat',
      payload: { books: [{ market: claims.market, receipts: [other] }] },
    })
    expect(namesOf(prove([...lines, heartbeat]))).toContain('executions-equivocal')
  })
})
