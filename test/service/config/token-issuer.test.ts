import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { issuerOfNewStore, issuesTokens } from '../../../src/service/config/token-issuer.ts'

function read(flags: Record<string, string>) {
  return loadConfig({ flags, environment: {}, file: undefined, readFile: () => '' })
}

function configOf(flags: Record<string, string>) {
  const result = read(flags)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

const OUTSIDE = {
  'auth.issuer': 'https://id.example.com/',
  'auth.jwks_url': 'https://id.example.com/jwks?v=1',
  'auth.audience': 'tidegate',
}

describe('the issuer of a new store', () => {
  it.each<[string, Record<string, string>, string]>([
    ['the address that customers use', { 'http.public_url': 'https://md.example.com' }, 'https://md.example.com'],
    ['the listener', {}, 'http://127.0.0.1:8080'],
    ['the listener in brackets', { 'http.host': '::1', 'http.port': '9000' }, 'http://[::1]:9000'],
    ['a name, when the port is any', { 'http.port': '0' }, ''],
    ['a name, when the listener is everywhere', { 'http.host': '0.0.0.0' }, ''],
    ['a name, when the listener is everywhere', { 'http.host': '::' }, ''],
  ])('the issuer of a new store is %s', (_what, flags, issuer) => {
    expect(issuerOfNewStore(configOf(flags))).toBe(issuer)
  })
})

describe('an outside issuer', () => {
  it('an outside issuer needs all of its settings, and then no tokens are issued here', () => {
    expect(issuesTokens(configOf({}))).toBe(true)
    expect(issuesTokens(configOf(OUTSIDE))).toBe(false)
  })

  it.each(['auth.jwks_url', 'auth.audience', 'auth.issuer'])('an outside issuer is refused without %s', (key) => {
    const result = read({ ...OUTSIDE, [key]: '' })
    expect(result.ok).toBe(false)
    expect(JSON.stringify(result)).toContain('must be set exactly when auth.issuer is')
  })

  it.each(['http://id.example.com/jwks', 'http://127.0.0.1.example.com/jwks', 'ftp://id.example.com', 'jwks'])(
    'an outside issuer is refused with its keys at %s',
    (url) => {
      expect(read({ ...OUTSIDE, 'auth.jwks_url': url }).ok).toBe(false)
    },
  )

  it.each([
    'https://user:pa55word@id.example.com/jwks',
    'https://pa55word@id.example.com/jwks',
    'https://:pa55word@id.example.com/jwks',
    'http://user:pa55word@id.example.com/jwks',
    'https:user:pa55word@id.example.com/jwks',
    'https://user:pa55word\\@id.example.com/jwks',
    'custom:user:pa55word@id.example.com',
  ])(
    'an outside issuer is refused with credentials in the address of its keys, which the error does not repeat: %s',
    (url) => {
      const result = read({ ...OUTSIDE, 'auth.jwks_url': url })
      expect(result.ok).toBe(false)
      expect(JSON.stringify(result)).toContain('user name or password')
      expect(JSON.stringify(result)).not.toContain('pa55word')
    },
  )

  it('an outside issuer may have its keys at an address with an @ after the host', () => {
    expect(read({ ...OUTSIDE, 'auth.jwks_url': 'https://id.example.com/a@b?c=d@e' }).ok).toBe(true)
  })
})
