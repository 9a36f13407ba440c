/**
 * The first ten minutes with the REST API, with a client whose types are generated from the service's OpenAPI document:
 * an account with a profile, a deposit address, a rule, paginated lists, and error responses.
 *
 *     npm install openapi-fetch
 *     npm install --save-dev openapi-typescript
 *     npx openapi-typescript http://127.0.0.1:8080/openapi.json --output api.d.ts
 *     node first-ten-minutes.ts [demo-client.json]
 *
 * Node.js 24, or 22.18 and later, runs this file directly; with Node.js 20: npx tsx first-ten-minutes.ts. For a
 * certificate from a private CA: export NODE_EXTRA_CA_CERTS=ca.pem.
 */
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import createClient, { type Client } from 'openapi-fetch'
import type { components, paths } from './api.d.ts'

type Problem = components['schemas']['Problem']

const SCOPES = [
  'identity:read_account',
  'identity:write_account',
  'transfer:read_deposit_address',
  'transfer:write_deposit_address',
  'orchestration:read_orchestration_rule',
  'orchestration:write_orchestration_rule',
]

const path = process.argv[2] ?? process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json'
const credentials = JSON.parse(await readFile(path, 'utf8'))
const started = new Date().toISOString()
const run = randomUUID()

const client = clientWith(await fetchToken(SCOPES))

// 1. An account with a profile. The ref_id is ours: repeating the request cannot create a second account.
const account = good(
  await client.POST('/v2/identity/accounts', {
    body: { account: { identity_id: run, ref_id: `savings-${run}`, description: 'Savings' }, create_profile: true },
  }),
)
const profileId = account.profile_id ?? ''
console.log(`account ${account.id} is ${account.summary_status}`)
for (const number of [2, 3]) {
  good(
    await client.POST('/v2/identity/accounts', {
      body: { account: { identity_id: run, ref_id: `more-${number}-${run}` } },
    }),
  )
}

// 2. Lists are paginated: pass the cursor of the previous page with the same filters.
const listed: string[] = []
let cursor: string | undefined
do {
  const page = good(
    await client.GET('/v2/identity/accounts', {
      params: {
        query: {
          limit: 2,
          order: 'ASC',
          identity_id: run,
          'created_at.gte': started,
          ...(cursor === undefined ? {} : { page_cursor: cursor }),
        },
      },
    }),
  )
  listed.push(...page.items.map(({ id }) => id))
  cursor = page.next_page_cursor
} while (cursor !== undefined)
console.log(`${listed.length} accounts, the first is ours: ${listed[0] === account.id}`)

// 3. A deposit address. It is real, and is assigned to this profile only.
const address = good(
  await client.POST('/v2/transfer/deposit-addresses', {
    body: { profile_id: profileId, crypto_network: 'BITCOIN', ref_id: `address-${run}`, metadata: { desk: 'north' } },
  }),
)
console.log(`deposit address ${address.address}`)

// 4. A rule: BTC deposits are converted to US dollars, which are paid to a bank account.
const { rule } = good(
  await client.POST('/v2/orchestration/rules', {
    body: {
      ref_id: `rule-${run}`,
      profile_id: profileId,
      source_asset: 'BTC',
      destination_asset: 'USD',
      source: { crypto: { network: 'BITCOIN' } },
      destination: { fiat: { fiat_account_id: 'bank-account-1' } },
    },
  }),
)
console.log(`rule ${rule.id} is ${rule.status}, pay to ${rule.source.crypto?.address}`)

// 5. List both. The address of the rule is one of the profile's addresses.
const addresses = good(
  await client.GET('/v2/transfer/deposit-addresses', { params: { query: { profile_ids: [profileId] } } }),
)
const rules = good(
  await client.GET('/v2/orchestration/rules', { params: { query: { ids: [rule.id], status: ['ACTIVE', 'PENDING'] } } }),
)
console.log(`${addresses.items.length} deposit addresses, ${rules.items.length} rule`)

// 6. Error responses. Programs should check `code`.
show((await client.GET('/v2/identity/accounts', { params: { query: { limit: 0 } } })).error)
show((await client.GET('/v2/identity/accounts', { params: { query: { page_cursor: 'not-a-cursor' } } })).error)
show((await clientWith('not-a-token').GET('/v2/identity/accounts')).error)
const reader = clientWith(await fetchToken(['identity:read_account']))
show((await reader.GET('/v2/orchestration/rules')).error)
show((await client.GET('/v2/identity/accounts/{id}', { params: { path: { id: randomUUID() } } })).error)
const again = await client.POST('/v2/identity/accounts', {
  body: { account: { identity_id: run, ref_id: `savings-${run}` } },
})
show(again.error)
console.log(`that account is ours: ${again.error?.meta?.existing?.id === account.id}`)

// 7. A rule cannot be changed, only deleted. Deleting it again is not an error.
for (let time = 0; time < 2; time++) {
  const deleted = good(await client.DELETE('/v2/orchestration/rules/{id}', { params: { path: { id: rule.id } } }))
  console.log(`rule is ${deleted.rule.status}`)
}

function clientWith(token: string): Client<paths> {
  return createClient<paths>({ baseUrl: credentials.base_url, headers: { authorization: `Bearer ${token}` } })
}

/** Requests a token with the OAuth 2.0 client credentials grant; it is valid for `expires_in` seconds. */
async function fetchToken(scopes: readonly string[]): Promise<string> {
  const { data, error } = await createClient<paths>({ baseUrl: credentials.auth_url }).POST('/oauth2/token', {
    body: {
      grant_type: 'client_credentials',
      client_id: credentials.client_id,
      client_secret: credentials.client_secret,
      scope: scopes.join(' '),
    },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  if (data === undefined) throw new Error(`no token: ${error?.error_description}`)
  return data.access_token
}

/** Returns the data of a response, or throws an error with the service's status, code and detail. */
function good<Data>({ data, error }: { data?: Data; error?: Problem }): Data {
  if (data === undefined) throw new Error(`${error?.status} ${error?.code}: ${error?.detail}`)
  return data
}

function show(problem: Problem | undefined): void {
  console.log(`refused: ${problem?.status} ${problem?.code}: ${problem?.detail}`)
}
