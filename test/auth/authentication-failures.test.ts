import { beforeEach, describe, expect, it } from 'vitest'
import { AuthenticationFailures } from '../../src/auth/authentication-failures.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

let clock: VirtualClock
let failures: AuthenticationFailures
beforeEach(() => {
  clock = new VirtualClock()
  clock.advance(1_000_000)
  failures = new AuthenticationFailures(clock)
})

/** An attempt with a wrong secret; the seconds to wait that it is answered with, 0 for a plain refusal. */
function attempt(clientId = 'client', address = '192.0.2.1'): number {
  return failures.record(clientId, address)
}

const attempts = (count: number) => Array.from({ length: count }, () => attempt())

describe('failed authentications', () => {
  it('are free five times a minute, and from the sixth the wait grows to a minute', () => {
    expect(attempts(14)).toEqual([0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('wait whole seconds, whatever fraction of a millisecond the clock is at', () => {
    const start = 64_895.234475380006
    expect(start + 1_000 - start).toBeGreaterThan(1_000)
    clock = new VirtualClock()
    clock.advance(start)
    failures = new AuthenticationFailures(clock)
    expect(attempts(8)).toEqual([0, 0, 0, 0, 0, 1, 2, 4])
  })

  it('at a pace of five a minute are free for ever', () => {
    for (let round = 0; round < 50; round++) {
      expect(attempt(), `attempt ${round}`).toBe(0)
      clock.advance(12_000)
    }
  })

  it('grow too for who waits as he is told', () => {
    attempts(5)
    const waits = Array.from({ length: 9 }, () => {
      const wait = attempt()
      clock.advance(wait * 1000)
      return wait
    })
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('never ask for more than a minute from the failure that the wait began with, however many come', () => {
    attempts(14)
    for (let second = 1; second < 60; second++) {
      clock.advance(1_000)
      expect(attempt(), `second ${second}`).toBe(60 - second)
    }
  })

  it('are forgotten after a quiet minute', () => {
    attempts(9)
    clock.advance(8_000 + 60_000)
    expect(attempts(6)).toEqual([0, 0, 0, 0, 0, 1])
  })

  it('are counted by client and address, whether the client exists or not', () => {
    attempts(6)
    expect(attempt('client', '192.0.2.2')).toBe(0)
    expect(attempt('client 2', '192.0.2.1')).toBe(0)
    expect(Array.from({ length: 6 }, () => attempt('unknown'))).toEqual([0, 0, 0, 0, 0, 1])
  })

  it('are kept of so many pairs and no more, the latest', () => {
    for (let index = 0; index < 20_500; index++) attempt(`client ${index}`, `address ${index}`)
    expect(failures.size).toBe(20_000)
    expect(Array.from({ length: 5 }, () => attempt('client 20499', 'address 20499')).at(-1)).toBe(1)
    expect(Array.from({ length: 5 }, () => attempt('client 0', 'address 0')).at(-1)).toBe(0)
    clock.advance(120_000)
    attempt('later')
    expect(failures.size).toBe(1)
  })

  it('of one address keep 500 entries at most, which displace none of another address', () => {
    attempts(6)
    const others = Array.from({ length: 30_000 }, (_, index) => attempt(`invented ${index}`, '192.0.2.66'))
    expect(failures.size).toBe(501)
    // The invented clients that came late share one entry: no fresh start for each of them.
    expect(others.slice(0, 499)).toEqual(Array(499).fill(0))
    expect(others.slice(505).every((wait) => wait > 0)).toBe(true)
    expect(attempt()).toBe(2)
  })

  it('of an address that is quiet for a minute leave nothing behind', () => {
    for (let index = 0; index < 600; index++) attempt(`invented ${index}`)
    clock.advance(120_000 + 1)
    expect(attempt('client', '192.0.2.2')).toBe(0)
    expect(failures.size).toBe(1)
    expect(Array.from({ length: 499 }, (_, index) => attempt(`again ${index}`))).toEqual(Array(499).fill(0))
    expect(failures.size).toBe(500)
  })
})
