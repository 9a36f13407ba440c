import { beforeEach, describe, expect, it } from 'vitest'
import type { ReadinessRow } from '../../../src/service/health/readiness.ts'
import { ReadinessWatch } from '../../../src/service/health/readiness-watch.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let failing: Set<string>
let watch: ReadinessWatch

const GATES = { draining: 'immediate', store: 'steady', directory: 'steady', 'market BTCUSD': 'none' } as const

const row = ([name, gate]: [string, ReadinessRow['gate']]): ReadinessRow => {
  const ok = !failing.has(name)
  return { name, ok, detail: ok ? 'ok' : 'lost', gate }
}

const isReady = () => watch.current.ready
const failed = () => watch.current.checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)

beforeEach(() => {
  clock = new VirtualClock()
  failing = new Set()
  watch = new ReadinessWatch({ clock, rows: () => Object.entries(GATES).map(row) })
})

describe('a node that was not ready yet', () => {
  it('a node that was not ready yet is ready as soon as its gates pass, and until then not', () => {
    failing = new Set(['store', 'directory'])
    expect(isReady()).toBe(false)
    failing.delete('store')
    clock.advance(60_000)
    expect([isReady(), failed()]).toEqual([false, ['directory: lost']])
    failing.clear()
    expect(isReady()).toBe(true)
  })
})

describe('a node that was ready', () => {
  beforeEach(() => expect(isReady()).toBe(true))

  it('a node that was ready stays ready during a fault of less than 2 s, which it names', () => {
    failing.add('store')
    clock.advance(1_900)
    expect([isReady(), failed()]).toEqual([true, ['store: lost']])
    failing.clear()
    clock.advance(500)
    failing.add('store')
    clock.advance(1_900)
    expect(isReady()).toBe(true)
  })

  it('a ready node becomes unready after a fault of 2 s, although nothing asked meanwhile, and ready 5 s after its end', () => {
    failing.add('store')
    clock.advance(2_500)
    expect(isReady()).toBe(false)
    failing.clear()
    clock.advance(4_900)
    expect([isReady(), failed()]).toEqual([false, ['store: passes again, for less than 5 seconds']])
    // A fault in between begins the 5 s again.
    failing.add('store')
    clock.advance(300)
    failing.clear()
    clock.advance(4_900)
    expect(isReady()).toBe(false)
    clock.advance(400)
    expect([isReady(), failed()]).toEqual([true, []])
  })

  it('a node that was ready counts each gate by itself: two short faults one after the other leave it ready', () => {
    failing.add('store')
    clock.advance(1_500)
    failing = new Set(['directory'])
    clock.advance(1_500)
    expect(isReady()).toBe(true)
    clock.advance(1_000)
    expect(isReady()).toBe(false)
  })

  it('a node that was ready is not ready at once when it drains', () => {
    failing.add('draining')
    expect(isReady()).toBe(false)
  })

  it('a ready node names failed checks that are not gates, and stays ready', () => {
    failing.add('market BTCUSD')
    clock.advance(60_000)
    expect([isReady(), failed()]).toEqual([true, ['market BTCUSD: lost']])
  })

  it('a node reads nothing more once its readiness watch is stopped', () => {
    watch.stop()
    failing.add('store')
    clock.advance(60_000)
    expect(isReady()).toBe(true)
  })
})
