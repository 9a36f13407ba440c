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

/** An attempt with a wrong secret, as the endpoint makes it; the seconds it is told to wait, 0 for a plain refusal. */
function attempt(clientId = 'client', address = '192.0.2.1'): number {
  return failures.waitSeconds(clientId, address) || failures.record(clientId, address)
}

const attempts = (count: number) => Array.from({ length: count }, () => attempt())

describe('failed authentications', () => {
  it('are free five times a minute, and from the sixth the wait grows to a minute', () => {
    expect(attempts(14)).toEqual([0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
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

  it('never keep anybody out for longer than a minute from the failure that was judged, however often he comes', () => {
    attempts(14)
    for (let second = 1; second < 60; second++) {
      clock.advance(1_000)
      expect(failures.waitSeconds('client', '192.0.2.1'), `second ${second}`).toBe(60 - second)
    }
    clock.advance(1_000)
    expect(failures.waitSeconds('client', '192.0.2.1')).toBe(0)
  })

  it('are forgotten after a quiet minute', () => {
    attempts(9)
    clock.advance(8_000 + 60_000)
    expect(attempts(6)).toEqual([0, 0, 0, 0, 0, 1])
  })

  it('are counted by client and address, whether the client exists or not', () => {
    attempts(6)
    expect(failures.waitSeconds('client', '192.0.2.2')).toBe(0)
    expect(failures.waitSeconds('client 2', '192.0.2.1')).toBe(0)
    expect(Array.from({ length: 6 }, () => attempt('nobody'))).toEqual([0, 0, 0, 0, 0, 1])
  })

  it('are remembered of so many pairs and no more, the latest', () => {
    for (let index = 0; index < 20_500; index++) attempt(`client ${index}`)
    expect(failures.size).toBe(20_000)
    expect(Array.from({ length: 5 }, () => attempt('client 20499')).at(-1)).toBe(1)
    expect(Array.from({ length: 5 }, () => attempt('client 0')).at(-1)).toBe(0)
    clock.advance(120_000)
    attempt('later')
    expect(failures.size).toBe(1)
  })
})
