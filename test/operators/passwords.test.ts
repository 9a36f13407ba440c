import { describe, expect, it } from 'vitest'
import { Passwords } from '../../src/operators/passwords.ts'

const HOLDER = '192.0.2.1'
const passwords = new Passwords({ N: 1_024, r: 8, p: 1 })

describe('a stored password', () => {
  it('is verified with the cost that it was stored with, in any form of its characters', async () => {
    const stored = await passwords.hash('Ångström 123', HOLDER)
    expect(stored).toMatch(/^scrypt\$1024\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
    const other = new Passwords({ N: 2_048, r: 8, p: 1 })
    expect(await other.verify('Ångström 123', stored, HOLDER)).toBe(true)
    expect(await other.verify('A\u030angstro\u0308m 123', stored, HOLDER)).toBe(true)
    expect(await other.verify('Angstrom 123', stored, HOLDER)).toBe(false)
    expect(await passwords.hash('Ångström 123', HOLDER)).not.toBe(stored)
  })

  it('is none for an unknown name, whatever is sent', async () => {
    for (const password of ['', 'A', 'undefined'])
      expect(await passwords.verify(password, undefined, HOLDER)).toBe(false)
  })

  it('is computed for another address while one address has all the checks that it may have', async () => {
    const slow = new Passwords({ N: 4_096, r: 8, p: 1 })
    const ofOne = Promise.allSettled(Array.from({ length: 30 }, () => slow.hash('a password', HOLDER)))
    const ofOther = slow.hash('a password', '192.0.2.2')
    const results = await ofOne
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused).toHaveLength(25)
    expect((refused[0] as PromiseRejectedResult).reason).toMatchObject({ code: 'unavailable' })
    expect(await ofOther).toMatch(/^scrypt/)
  })

  it('is not computed for more callers than can wait', async () => {
    const slow = new Passwords({ N: 4_096, r: 8, p: 1 })
    const holders = Array.from({ length: 30 }, (_, index) => `192.0.2.${index}`)
    const results = await Promise.allSettled(holders.map((holder) => slow.hash('a password', holder)))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(8)
  })
})
