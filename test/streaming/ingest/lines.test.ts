/**
 * The arbitration of two lines: examples of each rule, and properties over generated runs in which two lines lose,
 * delay and repeat messages and restart, against the messages of one perfect line.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppliedHashes, contentHash } from '../../../src/streaming/ingest/content-hash.ts'
import { type LineStep, Lines } from '../../../src/streaming/ingest/lines.ts'
import type { PublicationMessage, UpdateMessage } from '../../../src/streaming/sources/publication/message.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'
import { instrumentMessage, lostMessage, snapshotMessage, updateMessage } from './messages.ts'

const WAIT = 1_000

/** The two lines of a market under a script; `take` returns what became of a message and the steps as short texts. */
class Script {
  readonly lines = new Lines<string>(() => WAIT)
  now = 0
  needsSnapshot = false

  take(line: string, message: PublicationMessage): string {
    const { arrival, steps } = this.lines.arrive(line, message, this.now, this.needsSnapshot)
    return [arrival, ...textsOf(steps)].join(' ')
  }

  leave(line: string): string {
    return textsOf(this.lines.leave(line, 'gone', this.now)).join(' ')
  }

  expireAt(milliseconds: number): string {
    this.now = milliseconds
    return textsOf(this.lines.expire(milliseconds)).join(' ')
  }
}

function textsOf(steps: readonly LineStep<string>[]): string[] {
  return steps.map((step) => {
    if (step.kind === 'conflict') return `conflict:${step.seq}`
    if (step.kind !== 'message') return step.kind
    const { type, epoch, seq } = step.message
    return `${type === 'UPDATE' ? '' : type}${epoch === 'e1' ? '' : `${epoch}.`}${seq}`
  })
}

/** Lines A and B, both at message 3. */
function twoLines(): Script {
  const script = new Script()
  expect(script.take('A', snapshotMessage(0))).toBe('next SNAPSHOT0')
  expect(script.take('B', snapshotMessage(0))).toBe('duplicate')
  for (const seq of [1, 2, 3]) {
    expect(script.take('A', updateMessage(seq))).toBe(`next ${seq}`)
    expect(script.take('B', updateMessage(seq))).toBe('duplicate')
  }
  return script
}

describe('one line', () => {
  it('a single line passes every message on, and a gap at once', () => {
    const script = new Script()
    expect(script.take('A', updateMessage(7))).toBe('next 7')
    expect(script.take('A', snapshotMessage(7))).toBe('next SNAPSHOT7')
    expect(script.take('A', updateMessage(8))).toBe('next 8')
    expect(script.take('A', instrumentMessage(10))).toBe('next INSTRUMENT10')
    expect(script.lines.counts).toEqual({ gaps: 1, duplicates: 0, conflicts: 0 })
    expect(script.take('A', snapshotMessage(10))).toBe('next SNAPSHOT10')
  })

  it('a single line is down when it leaves, and resumes with the next message, or by confirming the last one', () => {
    const script = new Script()
    script.take('A', snapshotMessage(5))
    expect(script.leave('A')).toBe('down')
    expect(script.take('A2', updateMessage(6))).toBe('next resumed 6')
    expect(script.leave('A2')).toBe('down')
    expect(script.take('A3', updateMessage(6))).toBe('duplicate resumed')
    expect(script.leave('A3')).toBe('down')
    expect(textsOf(script.lines.confirm('A4', 'e1', 5))).toEqual([])
    expect(script.lines.lines).toEqual([])
    expect(textsOf(script.lines.confirm('A4', 'e1', 6))).toEqual(['resumed'])
    expect(script.leave('A4')).toBe('down')
    expect(script.take('A5', updateMessage(9))).toBe('next 9')
    expect(script.leave('A5')).toBe('down')
    expect(script.take('A6', snapshotMessage(12))).toBe('next SNAPSHOT12')
    expect(script.leave('A6')).toBe('down')
    expect(script.take('A7', snapshotMessage(11))).toBe('outdated')
  })

  it('a single line passes on messages after a needed SNAPSHOT that is older than the last message', () => {
    const script = new Script()
    script.take('A', snapshotMessage(5))
    for (const seq of [6, 7, 8]) script.take('A', updateMessage(seq))
    script.needsSnapshot = true
    expect(script.take('A', snapshotMessage(6))).toBe('next SNAPSHOT6')
    script.needsSnapshot = false
    expect(script.take('A', updateMessage(7))).toBe('next 7')
    expect(script.take('A', updateMessage(8))).toBe('next 8')
    expect(script.take('A', updateMessage(8))).toBe('duplicate')
    expect(script.take('A', updateMessage(9))).toBe('next 9')
  })

  it('a single line changes its epoch', () => {
    const script = new Script()
    script.take('A', snapshotMessage(5))
    expect(script.take('A', updateMessage(1, { epoch: 'e2' }))).toBe('next e2.1')
    expect(script.take('A', snapshotMessage(1, { epoch: 'e2' }))).toBe('next SNAPSHOTe2.1')
    expect(script.take('A', updateMessage(2, { epoch: 'e2' }))).toBe('next e2.2')
  })
})

describe('two lines', () => {
  it('two lines fill the gaps of each other: the first one waits and is not read', () => {
    const script = twoLines()
    expect(script.take('A', updateMessage(6))).toBe('held')
    expect([script.lines.isHolding('A'), script.lines.isHolding('B')]).toEqual([true, false])
    expect(script.lines.dueMilliseconds).toBe(WAIT)
    expect(script.take('B', updateMessage(4))).toBe('next 4')
    expect(script.take('B', updateMessage(5))).toBe('next 5 6')
    expect(script.lines.isHolding('A')).toBe(false)
    expect(script.take('B', updateMessage(6))).toBe('duplicate')
    expect(script.lines.counts.gaps).toBe(2)
  })

  it('two lines pass a gap on after the wait, at once when both have it, and at once when the other line leaves', () => {
    const script = twoLines()
    script.take('A', updateMessage(5))
    expect(script.expireAt(WAIT - 1)).toBe('')
    expect(script.expireAt(WAIT)).toBe('5')
    expect(script.take('B', updateMessage(5))).toBe('duplicate')

    expect(script.take('A', updateMessage(8))).toBe('held')
    expect(script.take('B', updateMessage(7))).toBe('next 7 8')
    expect(script.take('B', updateMessage(10))).toBe('held')
    expect(script.leave('A')).toBe('10')
    expect(script.leave('B')).toBe('down')
  })

  it('two lines survive the end and the return of one of them without a step', () => {
    const script = twoLines()
    expect(script.leave('A')).toBe('')
    expect(script.take('B', updateMessage(4))).toBe('next 4')
    // A is ahead of B when it returns: B still brings message 5.
    expect(script.take('A2', snapshotMessage(5))).toBe('held')
    expect(script.take('B', updateMessage(5))).toBe('next 5')
    expect(script.take('A2', updateMessage(6))).toBe('next 6')
    expect(script.leave('B')).toBe('')
    expect(script.take('B2', snapshotMessage(6))).toBe('duplicate')
  })

  it('a market accepts no third publisher line', () => {
    const { lines } = twoLines()
    expect(lines.accepts('C')).toBe(false)
    expect(lines.accepts('B')).toBe(true)
    lines.leave('A', 'gone', 0)
    expect(lines.accepts('C')).toBe(true)
  })

  it('two lines that differ at one number are a conflict, once; a later difference is another one', () => {
    const script = twoLines()
    script.take('A', updateMessage(4))
    expect(script.take('B', updateMessage(4, { amount: '7' }))).toBe('duplicate conflict:4')
    script.needsSnapshot = true
    expect(script.take('A', snapshotMessage(4))).toBe('next SNAPSHOT4')
    script.needsSnapshot = false
    expect(script.take('B', snapshotMessage(4))).toBe('duplicate')
    expect(script.take('B', updateMessage(5))).toBe('next 5')
    expect(script.take('A', updateMessage(5, { amount: '7' }))).toBe('duplicate conflict:5')
    expect(script.lines.counts.conflicts).toBe(2)
  })

  it('two lines are compared by their SNAPSHOTs of the same number, and by held messages', () => {
    const script = twoLines()
    script.needsSnapshot = true
    expect(script.take('A', snapshotMessage(3))).toBe('next SNAPSHOT3')
    script.needsSnapshot = false
    expect(script.take('B', snapshotMessage(3, { amount: '7' }))).toBe('duplicate conflict:3')
    expect(script.take('A', updateMessage(5, { amount: '7' }))).toBe('held')
    expect(script.take('B', updateMessage(4))).toBe('next 4 5')
    expect(script.take('B', updateMessage(5))).toBe('duplicate conflict:5')
  })

  it('two lines keep the epoch of the line that stays, until it has left or moved too', () => {
    const script = twoLines()
    expect(script.take('A', snapshotMessage(0, { epoch: 'e2' }))).toBe('other-epoch')
    expect(script.take('A', updateMessage(1, { epoch: 'e2' }))).toBe('other-epoch')
    expect(script.take('B', updateMessage(4))).toBe('next 4')
    expect(script.take('B', snapshotMessage(1, { epoch: 'e2' }))).toBe('next SNAPSHOTe2.1')
    expect(script.take('A', updateMessage(2, { epoch: 'e2' }))).toBe('next e2.2')

    expect(script.take('A', snapshotMessage(0, { epoch: 'e3' }))).toBe('other-epoch')
    expect(script.leave('B')).toBe('down')
    expect(script.take('A', snapshotMessage(0, { epoch: 'e3' }))).toBe('next SNAPSHOTe3.0')
  })

  it('a market waits no longer for a line that has moved to another epoch', () => {
    const script = twoLines()
    script.take('A', updateMessage(5))
    expect(script.take('B', snapshotMessage(0, { epoch: 'e2' }))).toBe('other-epoch 5')
  })

  it('a market trusts the other line while one has LOST its book', () => {
    const script = twoLines()
    expect(script.take('A', lostMessage(3))).toBe('untrusted')
    expect(script.take('A', updateMessage(4, { amount: '9' }))).toBe('untrusted')
    expect(script.take('B', updateMessage(4))).toBe('next 4')
    expect(script.take('B', lostMessage(4))).toBe('next LOST4')
    expect(script.take('A', snapshotMessage(4))).toBe('next SNAPSHOT4')
    expect(script.leave('A')).toBe('down')
  })
})

describe('the hash of a message', () => {
  const base = updateMessage(4)
  const level = { price: '100.50', amount: '1' }
  const trade = { id: '1', side: 'buy', price: '1', amount: '1', executedAtMilliseconds: 5 } as const
  it.each<[string, Partial<UpdateMessage>, Partial<UpdateMessage>]>([
    ['zeros', { bids: [level] }, { bids: [{ price: '0100.5', amount: '1.000' }] }],
    ['the digits of nothing', { bids: [{ price: '1', amount: '0' }] }, { bids: [{ price: '1', amount: '0.00' }] }],
    ['the order of levels', { asks: [level, base.bids[0]!] }, { asks: [base.bids[0]!, level] }],
    ['times', { executions: [trade], timeMilliseconds: 1 }, { executions: [{ ...trade, executedAtMilliseconds: 6 }] }],
  ])('the hash of a message does not depend on %s', (_what, one, other) => {
    expect(contentHash({ ...base, ...one })).toBe(contentHash({ ...base, ...other }))
  })

  it("a message's hash depends on everything else", () => {
    const order = { type: 'order_add', orderId: '1', side: 'buy', price: '1', amount: '2' } as const
    const different: Partial<UpdateMessage>[] = [
      {},
      { bids: [level] },
      { asks: [level] },
      { bids: [level, { price: '10', amount: '1' }] },
      { bids: [{ price: '1005', amount: '0' }] },
      { bids: [{ price: '10', amount: '50' }] },
      { bids: [{ price: '50', amount: '10' }] },
      { executions: [trade] },
      { executions: [trade, { ...trade, id: '2' }] },
      { executions: [{ ...trade, id: '2' }, trade] },
      { executions: [{ ...trade, side: 'sell' }] },
      { executions: [{ ...trade, side: undefined }] },
      { executions: [{ ...trade, venue: 'XETR' }] },
      { missed: 'a gap' },
      { instrument: instrumentMessage(4).instrument },
      { orders: [] },
      { orders: [order] },
      { orders: [{ type: 'order_modify', orderId: '1', price: '1', amount: '2' }] },
      { orders: [{ type: 'order_delete', orderId: '1' }] },
    ]
    const hashes = different.map((change) => contentHash({ ...base, ...change }))
    expect(new Set(hashes).size).toBe(different.length)
    expect(hashes.every((hash) => Number.isSafeInteger(hash) && hash >= 0)).toBe(true)
    const states = (['OPEN', 'HALTED'] as const).map((state) => contentHash(instrumentMessage(4, state)))
    expect(new Set(states).size).toBe(2)
  })

  it("a message's hash is kept for the last 4,096 messages", () => {
    const hashes = new AppliedHashes()
    for (let seq = 10; seq <= 10_000; seq++) if (seq % 1_000 !== 7) hashes.record(seq, seq * 3)
    expect([hashes.get(10_000 - 4_096), hashes.get(10_000 - 4_095), hashes.get(10_001)]).toEqual([
      undefined,
      5_905 * 3,
      undefined,
    ])
    expect([hashes.get(9_006), hashes.get(9_007), hashes.get(9_008)]).toEqual([27_018, undefined, 27_024])
    hashes.record(20_000, 1)
    expect([hashes.get(9_008), hashes.get(20_000)]).toEqual([undefined, 1])
    hashes.clear()
    expect(hashes.get(20_000)).toBeUndefined()
  })
})

/** What one line does at one time of a generated run. */
interface Act {
  readonly at: number
  readonly line: string
  readonly act: 'leave' | PublicationMessage
}

/** Plays both lines by time; a line with a held message is not read, and its later acts wait. */
function play(acts: readonly Act[]): { readonly script: Script; readonly steps: readonly LineStep<string>[] } {
  const script = new Script()
  const steps: LineStep<string>[] = []
  const queues = ['A', 'B'].map((name) => acts.filter(({ line }) => line[0] === name))
  const positions = [0, 0]
  for (;;) {
    const open = queues.flatMap((queue, index) => {
      const act = queue[positions[index]!]
      return act === undefined || script.lines.isHolding(act.line) ? [] : [{ act, index }]
    })
    const next = open.toSorted((left, right) => left.act.at - right.act.at)[0]
    const due = script.lines.dueMilliseconds
    if (due !== undefined && (next === undefined || due <= next.act.at)) {
      script.now = Math.max(script.now, due)
      steps.push(...script.lines.expire(script.now))
      continue
    }
    if (next === undefined) return { script, steps }
    const { act, index } = next
    positions[index]!++
    script.now = Math.max(script.now, act.at)
    if (act.act === 'leave') steps.push(...script.lines.leave(act.line, 'gone', script.now))
    else steps.push(...script.lines.arrive(act.line, act.act, script.now, false).steps)
  }
}

const SPACING = 10
/** Messages between two faults, so that a line that returns is there before the other one fails. */
const CALM = 60

/**
 * Two lines of `count` messages, of which at any time at most one is faulty: it loses messages, or is gone and returns with
 * a SNAPSHOT. One of them is up to 200 ms later than the other.
 */
function faultyLines(random: Random, count: number, isFaulty = true): Act[] {
  const acts: Act[] = []
  const names = { A: 'A0', B: 'B0' }
  const delays = { A: random.integer(200), B: random.integer(200) }
  const lastAt = { A: 0, B: 0 }
  const arrival = (side: 'A' | 'B', seq: number) => {
    lastAt[side] = Math.max(lastAt[side], seq * SPACING + delays[side] + random.integer(20))
    return lastAt[side]
  }
  const send = (side: 'A' | 'B', message: PublicationMessage) =>
    acts.push({ at: arrival(side, message.seq), line: names[side], act: message })
  send('A', snapshotMessage(0))
  send('B', snapshotMessage(0))
  let calmUntil = CALM
  let fault: { side: 'A' | 'B'; until: number; leaves: boolean } | undefined
  for (let seq = 1; seq <= count; seq++) {
    if (isFaulty && fault === undefined && seq > calmUntil && random.chance(0.1)) {
      fault = { side: random.pick(['A', 'B']), until: seq + random.integer(40), leaves: random.chance(0.5) }
      const { side } = fault
      if (fault.leaves) acts.push({ at: lastAt[side], line: names[side], act: 'leave' })
    }
    for (const side of ['A', 'B'] as const) {
      if (fault?.side !== side) send(side, updateMessage(seq))
      // Repeats what it sent before, as after a reconnect.
      if (fault?.side !== side && isFaulty && random.chance(0.05)) send(side, updateMessage(seq))
    }
    if (fault === undefined || seq < fault.until) continue
    const { side, leaves } = fault
    if (leaves) {
      names[side] = `${side}${seq}`
      send(side, snapshotMessage(seq))
    }
    delays[side] = random.integer(200)
    calmUntil = seq + CALM
    fault = undefined
  }
  return acts
}

const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 })

describe('two lossy, delayed and restarting lines', () => {
  it("two lossy, delayed and restarting lines give one perfect line's messages, if at any time one of them works", () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const count = 400
        const { steps, script } = play(faultyLines(new Random(seed), count))
        const perfect = ['SNAPSHOT0', ...Array.from({ length: count }, (_, index) => String(index + 1))]
        expect(textsOf(steps)).toEqual(perfect)
        expect(script.lines.counts.conflicts).toBe(0)
      }),
      propertySettings(60),
    )
  })

  it('two lossy lines never pass a message twice or out of order, and skip only the ones that neither brought before', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const random = new Random(seed)
        const acts = faultyLines(random, 200).filter(({ act }) => act === 'leave' || random.chance(0.8))
        const { steps } = play(acts)
        const seqs = steps.flatMap((step) => (step.kind === 'message' ? [step.message] : []))
        const arrived = new Set(acts.flatMap(({ act }) => (act === 'leave' ? [] : [act.seq])))
        let last = -1
        for (const { type, seq } of seqs) {
          if (type === 'SNAPSHOT') expect(seq).toBeGreaterThanOrEqual(last)
          else expect(seq).toBeGreaterThan(last)
          expect(arrived.has(seq)).toBe(true)
          last = seq
        }
      }),
      propertySettings(60),
    )
  })

  it('two lossy, delayed and restarting lines never miss a conflict', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const random = new Random(seed)
        const acts = faultyLines(random, 100, false)
        const places = acts.flatMap(({ act }, index) => (act === 'leave' || act.type === 'SNAPSHOT' ? [] : [index]))
        const place = random.pick(places)
        const { seq } = acts[place]!.act as PublicationMessage
        const changed = acts.map((act, index) =>
          index === place ? { ...act, act: updateMessage(seq, { amount: '0.001' }) } : act,
        )
        const { steps, script } = play(changed)
        expect(textsOf(steps).filter((text) => text.startsWith('conflict'))).toEqual([`conflict:${seq}`])
        expect(script.lines.counts.conflicts).toBe(1)
      }),
      propertySettings(60),
    )
  })
})
