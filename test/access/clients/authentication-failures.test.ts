import { beforeEach, describe, expect, it } from 'vitest'
import { AuthenticationFailures } from '../../../src/access/clients/authentication-failures.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let clock: VirtualClock
let failures: AuthenticationFailures
beforeEach(() => {
  clock = new VirtualClock()
  clock.advance(1_000_000)
  failures = new AuthenticationFailures(clock)
})

/** Records an attempt with a wrong secret. @returns the Retry-After seconds of the answer, 0 for a plain refusal */
function attempt(clientId = 'client', address = '192.0.2.1'): number {
  return failures.record(clientId, address)
}

const attempts = (count: number) => Array.from({ length: count }, () => attempt())

describe('failed authentications', () => {
  it('five failed authentications a minute are not delayed; from the sixth on, the delay doubles up to a minute', () => {
    expect(attempts(14)).toEqual([0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('failed authentications ask for a delay in whole seconds, whatever the fraction of a millisecond on the clock', () => {
    const start = 64_895.234475380006
    expect(start + 1_000 - start).toBeGreaterThan(1_000)
    clock = new VirtualClock()
    clock.advance(start)
    failures = new AuthenticationFailures(clock)
    expect(attempts(8)).toEqual([0, 0, 0, 0, 0, 1, 2, 4])
  })

  it('failed authentications are never delayed at a rate of five a minute', () => {
    for (let round = 0; round < 50; round++) {
      expect(attempt(), `attempt ${round}`).toBe(0)
      clock.advance(12_000)
    }
  })

  it('failed authentications ask for growing delays even when the client waits as requested', () => {
    attempts(5)
    const waits = Array.from({ length: 9 }, () => {
      const wait = attempt()
      clock.advance(wait * 1000)
      return wait
    })
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('failed authentications never ask for more than a minute after the failure that started the delay, however many follow', () => {
    attempts(14)
    for (let second = 1; second < 60; second++) {
      clock.advance(1_000)
      expect(attempt(), `second ${second}`).toBe(60 - second)
    }
  })

  it('failed authentications are forgotten after a minute without failures', () => {
    attempts(9)
    clock.advance(8_000 + 60_000)
    expect(attempts(6)).toEqual([0, 0, 0, 0, 0, 1])
  })

  it('failed authentications are counted per client and address, whether or not the client exists', () => {
    attempts(6)
    expect(attempt('client', '192.0.2.2')).toBe(0)
    expect(attempt('client 2', '192.0.2.1')).toBe(0)
    expect(Array.from({ length: 6 }, () => attempt('unknown'))).toEqual([0, 0, 0, 0, 0, 1])
  })

  it('failed authentications are kept for a bounded number of client and address pairs, the most recent ones', () => {
    for (let index = 0; index < 20_500; index++) attempt(`client ${index}`, `address ${index}`)
    expect(failures.size).toBe(20_000)
    expect(Array.from({ length: 5 }, () => attempt('client 20499', 'address 20499')).at(-1)).toBe(1)
    expect(Array.from({ length: 5 }, () => attempt('client 0', 'address 0')).at(-1)).toBe(0)
    clock.advance(120_000)
    // A thousand of them are released with each new pair.
    for (let index = 0; index < 20; index++) attempt(`later ${index}`)
    expect(failures.size).toBe(20)
  })

  it('failed authentications of one address occupy at most 500 entries and evict none of another address', () => {
    attempts(6)
    const others = Array.from({ length: 30_000 }, (_, index) => attempt(`invented ${index}`, '192.0.2.66'))
    expect(failures.size).toBe(501)
    // The invented clients that came late share one entry: none of them starts again at zero.
    expect(others.slice(0, 499)).toEqual(Array(499).fill(0))
    expect(others.slice(505).every((wait) => wait > 0)).toBe(true)
    expect(attempt()).toBe(2)
  })

  it('failed authentications of an address leave no entry behind after a minute without failures', () => {
    for (let index = 0; index < 600; index++) attempt(`invented ${index}`)
    clock.advance(120_000 + 1)
    expect(attempt('client', '192.0.2.2')).toBe(0)
    expect(failures.size).toBe(1)
    expect(Array.from({ length: 499 }, (_, index) => attempt(`again ${index}`))).toEqual(Array(499).fill(0))
    expect(failures.size).toBe(500)
  })
})
