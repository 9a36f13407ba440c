import { describe, expect, it } from 'vitest'
import { NO_HOLDER, SHARED_POOLS, SharedPool } from '../../../src/platform/base/shared-pool.ts'

/** Takes one unit after the other until the pool refuses; returns how many it got. */
function takeAll(pool: SharedPool, holder: string): number {
  let taken = 0
  while (pool.take(holder) === undefined) taken++
  return taken
}

const sizes = Object.values(SHARED_POOLS).map(({ size }) => (typeof size === 'number' ? Math.min(size, 10_000) : 64))

describe.each([...new Set([...sizes, 4, 5, 10])])('a pool of %i', (size) => {
  it('a shared pool gives one holder a quarter, and another one still gets one', () => {
    const pool = new SharedPool(size)
    expect(takeAll(pool, 'A')).toBe(Math.floor(size / 4))
    expect(pool.refusal('A')).toBe('share')
    expect(pool.take('B')).toBeUndefined()
  })

  it('a shared pool keeps a tenth for holders that have nothing, also from an address of many clients', () => {
    const pool = new SharedPool(size)
    expect(takeAll(pool, NO_HOLDER)).toBe(size - Math.ceil(size / 10))
    for (let index = 0; index < Math.ceil(size / 10); index++) expect(pool.take(`B${index}`)).toBeUndefined()
    expect(pool.take('C')).toBe('pool')
    expect(pool.total).toBe(size)
  })

  it('a shared pool gives returned permits again', () => {
    const pool = new SharedPool(size)
    const taken = takeAll(pool, 'A')
    pool.add('A', -taken)
    expect([pool.held('A'), pool.total]).toEqual([0, 0])
    expect(takeAll(pool, 'A')).toBe(taken)
  })
})

describe('a pool', () => {
  it('a shared pool accepts a first amount over a quarter, and an only one that is larger than the pool', () => {
    const pool = new SharedPool(100)
    expect([pool.take('A', 40), pool.take('A', 1), pool.take('B', 40)]).toEqual([undefined, 'share', undefined])
    expect(new SharedPool(100).take('A', 500)).toBeUndefined()
  })

  it('a shared pool follows a changed size', () => {
    let size = 8
    const pool = new SharedPool(() => size)
    expect(takeAll(pool, 'A')).toBe(2)
    size = 16
    expect(takeAll(pool, 'A')).toBe(2)
  })

  it('a shared pool of one unit is not divided', () => {
    const pool = new SharedPool(1)
    expect([pool.take('A'), pool.take('B')]).toEqual([undefined, 'pool'])
  })
})
