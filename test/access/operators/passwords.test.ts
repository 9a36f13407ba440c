import { describe, expect, it } from 'vitest'
import { Passwords } from '../../../src/access/operators/passwords.ts'

const passwords = new Passwords({ N: 1_024, r: 8, p: 1 })

describe('a stored password', () => {
  it('a stored password is verified with the cost that it was stored with, in any form of its characters', async () => {
    const stored = await passwords.hash('Ångström 123')
    expect(stored).toMatch(/^scrypt\$1024\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
    const other = new Passwords({ N: 2_048, r: 8, p: 1 })
    expect(await other.verify('Ångström 123', stored)).toBe(true)
    expect(await other.verify('A\u030angstro\u0308m 123', stored)).toBe(true)
    expect(await other.verify('Angstrom 123', stored)).toBe(false)
    expect(await passwords.hash('Ångström 123')).not.toBe(stored)
  })

  it('a password check fails for an unknown name, whatever is sent', async () => {
    for (const password of ['', 'A', 'undefined']) expect(await passwords.verify(password, undefined)).toBe(false)
  })
})
