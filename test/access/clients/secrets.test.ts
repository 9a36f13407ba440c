import { describe, expect, it } from 'vitest'
import { hashSecret, matchesSecret, newPepper, newSecret } from '../../../src/access/clients/secrets.ts'

const pepper = newPepper()

describe('a client secret', () => {
  it('a client secret has 256 random bits after a known prefix', () => {
    const secrets = new Set(Array.from({ length: 100 }, newSecret))
    expect(secrets.size).toBe(100)
    for (const secret of secrets) {
      expect(secret).toMatch(/^tgs_[\w-]{43}$/)
      expect(Buffer.from(secret.slice(4), 'base64url')).toHaveLength(32)
    }
  })

  it('a client secret matches any live one, and only under its pepper', () => {
    const [first, second, third] = [newSecret(), newSecret(), newSecret()]
    const hashes = [first, second].map((secret) => hashSecret(pepper, secret))
    expect([first, second, third].map((secret) => matchesSecret(pepper, secret, hashes))).toEqual([true, true, false])
    expect(matchesSecret(newPepper(), first, hashes)).toBe(false)
    expect(matchesSecret(pepper, first, hashes.toReversed())).toBe(true)
    expect(matchesSecret(pepper, '', hashes)).toBe(false)
  })

  it('a client secret of a client without secrets never matches', () => {
    expect(matchesSecret(pepper, newSecret(), [])).toBe(false)
    expect(matchesSecret(pepper, '', [])).toBe(false)
  })
})
