import { describe, expect, it } from 'vitest'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { DirectoryContent } from '../../../src/access/clients/directory-records.ts'
import { type StreamRefusal, streamRefusal } from '../../../src/access/clients/stream-access.ts'
import type { AccessToken } from '../../../src/access/clients/token-verifier.ts'
import { STREAM_SCOPE } from '../../../src/contract/scopes.ts'

/** The reasons to refuse a token, each on its own, in the order in which they are reported. */
const FAULTS = [
  'not-loaded',
  'revoked',
  'token scope',
  'no customer',
  'client scope',
  'client',
  'customer',
  'streaming',
] as const
type Fault = (typeof FAULTS)[number]

const REFUSALS: Record<Fault, StreamRefusal> = {
  'not-loaded': 'not-loaded',
  revoked: 'revoked',
  'token scope': 'scope',
  'no customer': 'disabled',
  'client scope': 'scope',
  client: 'disabled',
  customer: 'disabled',
  streaming: 'not-allowed',
}

function refusalWith(faults: ReadonlySet<Fault>): StreamRefusal | undefined {
  const directory = new Directory()
  const customer = { id: 'c', name: 'c', enabled: !faults.has('customer'), streaming: !faults.has('streaming') }
  const scopes = faults.has('client scope') ? new Set<never>() : new Set([STREAM_SCOPE])
  const client = { clientId: 'k', customerId: 'c', name: 'k', scopes, enabled: !faults.has('client') }
  const customers = faults.has('no customer') ? [] : [customer]
  const revokedTokens = faults.has('revoked') ? [{ tokenId: 't', clientId: 'k', expiresAtMilliseconds: 0 }] : []
  if (!faults.has('not-loaded')) directory.replace({ customers, clients: [client], revokedTokens })
  return streamRefusal(directory, {
    clientId: 'k',
    customerId: 'c',
    scopes: new Set(faults.has('token scope') ? ['identity:read_account'] : ['identity:read_account', STREAM_SCOPE]),
    tokenId: 't',
    keyId: 'key',
    issuedAtSeconds: 0,
    expiresAtMilliseconds: 0,
  })
}

describe('streamRefusal', () => {
  it('streamRefusal accepts a token when there is no reason against it', () => {
    expect(refusalWith(new Set())).toBeUndefined()
  })

  it('streamRefusal returns the first of several reasons, in the documented order', () => {
    for (let bits = 1; bits < 2 ** FAULTS.length; bits++) {
      const faults = FAULTS.filter((_, index) => bits & (1 << index))
      expect(refusalWith(new Set(faults)), faults.join(', ')).toBe(REFUSALS[faults[0] as Fault])
    }
  })

  it('streamRefusal refuses a token that was revoked by itself, with its key, or with all earlier tokens of its client', () => {
    const client = { clientId: 'k', customerId: 'c', name: 'k', scopes: new Set([STREAM_SCOPE]), enabled: true }
    const customers = [{ id: 'c', name: 'c', enabled: true, streaming: true }]
    const token = {
      clientId: 'k',
      customerId: 'c',
      scopes: client.scopes,
      tokenId: 't',
      keyId: 'key',
      issuedAtSeconds: 9,
    }
    const refusal = (truth: Partial<DirectoryContent>, changes: Partial<AccessToken> = {}) => {
      const directory = new Directory()
      directory.replace({ customers, clients: [client], ...truth })
      return streamRefusal(directory, { ...token, expiresAtMilliseconds: 0, ...changes })
    }
    expect(refusal({ revokedTokens: [{ tokenId: 'other', clientId: 'k', expiresAtMilliseconds: 0 }] })).toBeUndefined()
    expect(refusal({ revokedKeyIds: ['other'] })).toBeUndefined()
    expect(refusal({ revokedKeyIds: ['key'] })).toBe('revoked')
    const since = (tokensValidFromSeconds: number) => ({ clients: [{ ...client, tokensValidFromSeconds }] })
    expect(refusal(since(9))).toBeUndefined()
    expect(refusal(since(10))).toBe('revoked')
    const outside = { clientId: 'c/k', outsideClientName: 'k' }
    expect(refusal(since(10), outside)).toBe('revoked')
    expect(refusal(since(10), { ...outside, outsideClientName: 'another' })).toBeUndefined()
  })

  it('streamRefusal refuses a client that does not exist', () => {
    const directory = new Directory()
    directory.replace({ customers: [], clients: [] })
    const token = {
      clientId: 'k',
      customerId: 'c',
      scopes: new Set([STREAM_SCOPE]),
      tokenId: 't',
      keyId: '',
      issuedAtSeconds: 0,
    }
    expect(streamRefusal(directory, { ...token, expiresAtMilliseconds: 0 })).toBe('disabled')
  })
})
