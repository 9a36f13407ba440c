/**
 * The first ten minutes with the REST API, with the client of packages/client, whose types are those of the OpenAPI
 * document: an account with a profile, a deposit address, a rule, lists, and errors.
 *
 *     node first-ten-minutes.ts [demo-client.json]
 *
 * Node.js 24, or 22.18 and later, runs this file directly; with Node.js 20: npx tsx first-ten-minutes.ts. Elsewhere than
 * in this repository: npm install PATH/packages/client. For a certificate from a private CA: export
 * NODE_EXTRA_CA_CERTS=ca.pem.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ApiProblem, RestClient } from '@tidegate/client'

const path = process.argv[2] ?? process.env.TIDEGATE_CREDENTIALS ?? 'data/demo-client.json'
const credentials = JSON.parse(readFileSync(path, 'utf8'))
const started = new Date().toISOString()
const run = randomUUID()

const rest = new RestClient({ credentials })

// 1. An account with a profile. The ref_id is ours: repeating the request cannot create a second account.
const account = await rest.post('/v2/identity/accounts', {
  body: { account: { identity_id: run, ref_id: `savings-${run}`, description: 'Savings' }, create_profile: true },
})
const profileId = account.profile_id ?? ''
console.log(`account ${account.id} is ${account.summary_status}`)
for (const number of [2, 3]) {
  await rest.post('/v2/identity/accounts', { body: { account: { identity_id: run, ref_id: `more-${number}-${run}` } } })
}

// 2. Lists are read page by page.
const listed: string[] = []
const query = { limit: 2, order: 'ASC', identity_id: run, 'created_at.gte': started } as const
for await (const { id } of rest.list('/v2/identity/accounts', { query })) listed.push(id)
console.log(`${listed.length} accounts, the first is ours: ${listed[0] === account.id}`)

// 3. A deposit address. It is real, and is assigned to this profile only.
const address = await rest.post('/v2/transfer/deposit-addresses', {
  body: { profile_id: profileId, crypto_network: 'BITCOIN', ref_id: `address-${run}`, metadata: { desk: 'north' } },
})
console.log(`deposit address ${address.address}`)

// 4. A rule: BTC deposits are converted to US dollars, which are paid to a bank account.
const { rule } = await rest.post('/v2/orchestration/rules', {
  body: {
    ref_id: `rule-${run}`,
    profile_id: profileId,
    source_asset: 'BTC',
    destination_asset: 'USD',
    source: { crypto: { network: 'BITCOIN' } },
    destination: { fiat: { fiat_account_id: 'bank-account-1' } },
  },
})
console.log(`rule ${rule.id} is ${rule.status}, pay to ${rule.source.crypto?.address}`)

// 5. List both. The address of the rule is one of the profile's addresses.
const addresses = await rest.get('/v2/transfer/deposit-addresses', { query: { profile_ids: [profileId] } })
const rules = await rest.get('/v2/orchestration/rules', { query: { ids: [rule.id], status: ['ACTIVE', 'PENDING'] } })
console.log(`${addresses.items.length} deposit addresses, ${rules.items.length} rule`)

// 6. Errors. Programs should check `code`.
await show(rest.get('/v2/identity/accounts', { query: { limit: 0 } }))
await show(rest.get('/v2/identity/accounts', { query: { page_cursor: 'not-a-cursor' } }))
const reader = new RestClient({ credentials, scopes: ['identity:read_account'] })
await show(reader.get('/v2/orchestration/rules'))
await show(rest.get('/v2/identity/accounts/{id}', { path: { id: randomUUID() } }))
const again = { account: { identity_id: run, ref_id: `savings-${run}` } }
const problem = await show(rest.post('/v2/identity/accounts', { body: again }))
console.log(`that account is ours: ${problem?.meta.existing?.id === account.id}`)

// 7. A rule cannot be changed, only deleted. Deleting it again is not an error.
for (let time = 0; time < 2; time++) {
  const deleted = await rest.delete('/v2/orchestration/rules/{id}', { path: { id: rule.id } })
  console.log(`rule is ${deleted.rule.status}`)
}

/** Prints and returns the problem with which a request fails. */
async function show(request: Promise<unknown>): Promise<ApiProblem | undefined> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error
    console.log(`refused: ${error.status} ${error.code}: ${error.detail}`)
    return error
  }
}
