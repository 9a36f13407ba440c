import { describe, expect, it } from 'vitest'
import { RateLimiter } from '../../../src/platform/http/rate-limit.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function limiter(clock: VirtualClock, keysMax = 100): RateLimiter {
  return new RateLimiter(clock, { name: 'token', perSecond: 2, burst: 5, keysMax })
}

describe('a rate limit', () => {
  it('a rate limit lets a burst through, then names the wait; refused requests cost nothing', () => {
    const clock = new VirtualClock()
    const limit = limiter(clock)
    for (const left of [4, 3, 2, 1, 0]) {
      const seconds = Math.ceil((5 - left) / 2)
      expect(limit.take('a')).toEqual({
        allowed: true,
        retryAfterSeconds: 0,
        headers: { 'ratelimit-policy': '"token";q=5;w=3', ratelimit: `"token";r=${left};t=${seconds}` },
      })
    }
    for (let count = 0; count < 50; count++) {
      expect(limit.take('a')).toEqual({
        allowed: false,
        retryAfterSeconds: 1,
        headers: { 'ratelimit-policy': '"token";q=5;w=3', ratelimit: '"token";r=0;t=1', 'retry-after': '1' },
      })
    }
    clock.advance(500)
    expect([limit.take('a').allowed, limit.take('a').allowed]).toEqual([true, false])
  })

  it('a rate limit counts each key on its own', () => {
    const limit = limiter(new VirtualClock())
    for (let count = 0; count < 5; count++) limit.take('a')
    expect([limit.take('a').allowed, limit.take('b').allowed]).toEqual([false, true])
  })

  it('a rate limit names a wait that is long enough, however slow the rate', () => {
    const clock = new VirtualClock()
    const limit = new RateLimiter(clock, { name: 'slow', perSecond: 0.3, burst: 1 })
    limit.take('a')
    const { retryAfterSeconds } = limit.take('a')
    expect(retryAfterSeconds).toBe(4)
    clock.advance((retryAfterSeconds - 1) * 1000)
    expect(limit.take('a').allowed).toBe(false)
    clock.advance(1000)
    expect(limit.take('a').allowed).toBe(true)
  })
})

describe('the keys', () => {
  it('the keys of a rate limit are bounded, and the least recently used goes first', () => {
    const limit = limiter(new VirtualClock(), 3)
    const exhaust = (key: string) => {
      for (let count = 0; count < 5; count++) limit.take(key)
    }
    for (const key of ['a', 'b', 'c']) exhaust(key)
    limit.take('a')
    limit.take('d')
    expect(limit.size).toBe(3)
    // b was the oldest and starts again, which pushes out c; a was kept.
    expect(limit.take('a').allowed).toBe(false)
    expect(limit.take('b').allowed).toBe(true)
    expect(limit.take('a').allowed).toBe(false)
    for (let count = 0; count < 1_000; count++) limit.take(`x${count}`)
    expect(limit.size).toBe(3)
  })

  it('the keys of a rate limit that are full again are forgotten, so a flood gives its memory back', () => {
    const clock = new VirtualClock()
    const limit = limiter(clock)
    for (let count = 0; count < 100; count++) limit.take(`x${count}`)
    expect(limit.size).toBe(100)
    clock.advance(500)
    for (let count = 0; count < 60; count++) limit.take(`y${count}`)
    expect(limit.size).toBe(60)
  })

  it('the keys of a rate limit that are not full are kept while there is space', () => {
    const clock = new VirtualClock()
    const limit = limiter(clock)
    for (let count = 0; count < 5; count++) limit.take('a')
    for (let count = 0; count < 99; count++) limit.take(`x${count}`)
    expect(limit.take('a').allowed).toBe(false)
  })
})
