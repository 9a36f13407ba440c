/** The tokens that a change of the directory is said to affect, compared with the checks of all tokens before and after it. */
import { assert as check, integer, property } from 'fast-check'
import { expect, it } from 'vitest'
import type { AccessToken } from '../../../src/access/clients/access-token.ts'
import { type AffectedTokens, clientKey } from '../../../src/access/clients/affected-tokens.ts'
import { Directory } from '../../../src/access/clients/directory.ts'
import type { DirectoryContent } from '../../../src/access/clients/directory-records.ts'
import { publishedMarkets, publishRefusal } from '../../../src/access/clients/publish-access.ts'
import { streamRefusal } from '../../../src/access/clients/stream-access.ts'
import { PUBLISH_SCOPE, STREAM_SCOPE } from '../../../src/contract/scopes.ts'
import { propertySettings } from '../../support/property.ts'
import { Random } from '../../support/random.ts'

const CUSTOMERS = ['c0', 'c1', 'c2']
const CLIENTS = Array.from({ length: 6 }, (_, index) => ({ clientId: `k${index}`, customerId: `c${index % 3}` }))
const KEYS = ['key 0', 'key 1']
const SCOPES = [STREAM_SCOPE, PUBLISH_SCOPE] as const

type Content = Required<Pick<DirectoryContent, 'customers' | 'clients' | 'revokedTokens' | 'revokedKeyIds'>>

/** Tokens of all clients by their ids, and by their names at an external issuer. */
const TOKENS: readonly AccessToken[] = KEYS.flatMap((keyId) =>
  CLIENTS.flatMap(({ clientId, customerId }) => {
    const token = {
      clientId,
      customerId,
      keyId,
      scopes: new Set<string>(SCOPES),
      tokenId: `${clientId} ${keyId}`,
      issuedAtSeconds: 10,
      expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
    }
    const names = [`name ${clientId}`, `other name ${clientId}`]
    return [
      token,
      ...names.map((name) => ({
        ...token,
        clientId: clientKey({ customerId, name }),
        tokenId: '',
        outsideClientName: name,
      })),
    ]
  }),
)

function randomContent(random: Random): Content {
  return {
    customers: CUSTOMERS.filter(() => random.chance(0.9)).map((id) => ({
      id,
      name: `name ${random.integer(2)} of ${id}`,
      enabled: random.chance(0.8),
      streaming: random.chance(0.8),
    })),
    clients: CLIENTS.filter(() => random.chance(0.9)).map(({ clientId, customerId }) => ({
      clientId,
      customerId,
      name: random.chance(0.8) ? `name ${clientId}` : `other name ${clientId}`,
      scopes: new Set(SCOPES.filter(() => random.chance(0.8))),
      ...(random.chance(0.5) && { publishMarkets: new Set(['BTCUSD', 'ETHUSD'].filter(() => random.chance(0.7))) }),
      enabled: random.chance(0.8),
      ...(random.chance(0.3) && { tokensValidFromSeconds: 5 + random.integer(10) }),
    })),
    revokedTokens: TOKENS.filter(({ tokenId }) => tokenId !== '' && random.chance(0.1)).map(
      ({ tokenId, clientId }) => ({
        tokenId,
        clientId,
        expiresAtMilliseconds: 0,
      }),
    ),
    revokedKeyIds: KEYS.filter(() => random.chance(0.1)),
  }
}

/** Some of the parts of `next` instead of those of `before`, so that most changes are small. */
function mixed(random: Random, before: Content, next: Content): Content {
  const share = random.next()
  const mix = <Item>(key: (item: Item) => string, old: readonly Item[], wanted: readonly Item[]): Item[] => {
    const keys = [...new Set([...old, ...wanted].map(key))]
    return keys.flatMap((each) => (random.chance(share) ? wanted : old).filter((item) => key(item) === each))
  }
  return {
    customers: mix(({ id }) => id, before.customers, next.customers),
    clients: mix(({ clientId }) => clientId, before.clients, next.clients),
    revokedTokens: mix(({ tokenId }) => tokenId, before.revokedTokens, next.revokedTokens),
    revokedKeyIds: random.chance(share / 4) ? next.revokedKeyIds : before.revokedKeyIds,
  }
}

/** Everything that is decided about a token. */
function decisions(directory: Directory): string[] {
  return TOKENS.map((token) =>
    JSON.stringify([
      streamRefusal(directory, token),
      publishRefusal(directory, token),
      [...publishedMarkets(directory, token)].sort(),
    ]),
  )
}

function change(directory: Directory, content: Content, isWhole: boolean): AffectedTokens {
  let affected: AffectedTokens | undefined
  const end = directory.onChange((each) => {
    affected = each
  })
  if (isWhole) directory.replace(content)
  else {
    const { customers, clients, revokedTokens, revokedKeyIds } = content
    directory.apply({
      customers: { ids: CUSTOMERS, records: customers },
      clients: { ids: CLIENTS.map(({ clientId }) => clientId), records: clients, secrets: [] },
      revokedTokens: { ids: TOKENS.map(({ tokenId }) => tokenId), records: revokedTokens },
      keys: { keys: [], revokedKeyIds, receiptKeys: [] },
    })
  }
  end()
  if (affected === undefined) throw new Error('the listener was not called')
  return affected
}

const names = (affected: AffectedTokens, { clientId, customerId }: AccessToken) =>
  affected.all || affected.clientIds.has(clientId) || affected.customerIds.has(customerId)

it('the affected tokens are all those whose decision changes, except when a revocation ends', () => {
  check(
    property(integer(), (seed) => {
      const random = new Random(seed)
      const directory = new Directory()
      let content = randomContent(random)
      expect(change(directory, content, true).all).toBe(true)
      for (let step = 0; step < 30; step++) {
        const before = decisions(directory)
        const next = mixed(random, content, randomContent(random))
        // The end of a revocation closes nothing.
        const revokedTokens = [
          ...new Map([...content.revokedTokens, ...next.revokedTokens].map((one) => [one.tokenId, one])).values(),
        ]
        const revokedKeyIds = [...new Set([...content.revokedKeyIds, ...next.revokedKeyIds])]
        content = { ...next, revokedTokens, revokedKeyIds }
        const affected = change(directory, content, random.chance(0.5))
        const after = decisions(directory)
        for (const [index, token] of TOKENS.entries()) {
          if (before[index] !== after[index])
            expect(names(affected, token), JSON.stringify([token, after[index]])).toBe(true)
        }
      }
    }),
    propertySettings(100),
  )
})

it.each([
  ['all', true],
  ['a part', false],
])("the affected tokens are none after reading %s again, and one client's when it alone differs", (_what, isWhole) => {
  const random = new Random(1)
  const directory = new Directory()
  const content = { ...randomContent(random), revokedTokens: [], revokedKeyIds: [] }
  directory.replace(content)
  const copy = structuredClone(content)
  const same = change(directory, copy, isWhole)
  expect([same.all, [...same.customerIds], [...same.clientIds]]).toEqual([false, [], []])
  const [first, ...others] = copy.clients
  if (first === undefined) throw new Error('no client')
  const one = change(directory, { ...copy, clients: [{ ...first, enabled: !first.enabled }, ...others] }, isWhole)
  expect([one.all, [...one.customerIds]]).toEqual([false, []])
  expect([...one.clientIds]).toEqual([first.clientId, clientKey(first)])
})
