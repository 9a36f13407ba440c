/**
 * Attacks by a customer that creates as much as it can: unlimited records, and addresses from a pool shared by all
 * customers.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { base58 } from '@scure/base'
import { accountPublicKey } from '../../support/address-keys.ts'
import { type Attack, type AttackRun, Findings } from './attack.ts'
import { type Answer, bearer, json, pooled, send, statusText } from './requests.ts'
import type { Customer, Stage } from './stage.ts'

const ACCOUNTS = '/v2/identity/accounts'
const ADDRESSES = '/v2/transfer/deposit-addresses'

/** As `send` with a token, repeated while the store is busy (503 with Retry-After and the code `unavailable`). */
async function create(stage: Stage, { token }: Customer, path: string, body: unknown): Promise<Answer> {
  const sent = json(body)
  for (let attempt = 1; ; attempt++) {
    const answer = await send(stage.http + path, {
      method: 'POST',
      ...sent,
      headers: { ...sent.headers, ...bearer(token) },
    })
    const isBusy = answer.status === 503 && answer.text.includes('"unavailable"')
    if (!isBusy || attempt === 30) return answer
  }
}

async function newProfile(stage: Stage, customer: Customer): Promise<string> {
  const body = { account: { identity_id: 'attack' }, create_profile: true }
  const answer = await create(stage, customer, ACCOUNTS, body)
  return (JSON.parse(answer.text) as { profile_id: string }).profile_id
}

/** The expected refusals: 403 for a total, 429 for a day, 503 for a pool without free addresses. */
const REFUSALS = [403, 429, 503]
const POOL = 200

async function importPool({ stage, random }: AttackRun): Promise<void> {
  const addresses = Array.from({ length: POOL }, () => {
    const secret = Uint8Array.from({ length: 32 }, () => random.integer(256))
    return base58.encode(ed25519.getPublicKey(secret))
  })
  await stage.operator.call('POST', '/address-pool', { network: 'SOLANA', addresses })
}

export const poolExhaustion: Attack = {
  name: 'pool-exhaustion',
  sent: `requests of one customer for ${POOL + 50} addresses of a pool that has ${POOL}`,
  holds: 'a part of the pool is kept for others: another customer gets an address afterwards',
  isolation: 'own',
  isInTests: false,
  settings: { 'rest.rate_per_second': '1000' },
  prepare: importPool,
  async run({ stage, round }) {
    const findings = new Findings()
    const [greedy, other] = [await stage.customer(), await stage.customer()]
    const wanted = async (customer: Customer, count: number) => {
      const profileId = await newProfile(stage, customer)
      return await pooled(count, 4, () =>
        create(stage, customer, ADDRESSES, { profile_id: profileId, crypto_network: 'SOLANA' }),
      )
    }
    // Later rounds find the pool as the first one left it: the rest is reserved for customers without addresses.
    const taken = await wanted(greedy, round === 0 ? POOL + 50 : 10)
    const answers = await wanted(other, 1)
    const given = taken.filter(({ status }) => status === 200).length
    findings.check(given < POOL, `one customer got ${given} of ${POOL} addresses`)
    findings.check(
      taken.every(({ status }) => status === 200 || REFUSALS.includes(status)),
      `answers: ${statusText(taken)}`,
    )
    findings.check(
      answers.every(({ status }) => status === 200),
      `another customer: ${statusText(answers)}`,
    )
    return findings.outcome(`${statusText(taken)}; another customer: ${statusText(answers)}`)
  },
}

/** The attacked service's quotas, small enough for few requests to reach them. */
const ACCOUNTS_MAX = 60
const CREATIONS_PER_DAY = 100

export const creationFloods: Attack = {
  name: 'creation-floods',
  sent: `90 accounts and 90 addresses of one customer that may have ${ACCOUNTS_MAX} accounts and create ${CREATIONS_PER_DAY} records a day`,
  holds:
    'beyond the total 403 quota_exceeded with limit and used, beyond the day 429 with Retry-After; another customer creates on',
  isolation: 'own',
  isInTests: false,
  settings: {
    'quotas.accounts_max': String(ACCOUNTS_MAX),
    'quotas.creations_per_day': String(CREATIONS_PER_DAY),
    'rest.rate_per_second': '1000',
    'custody.evm.xpub': accountPublicKey(5),
  },
  async run({ stage }) {
    const findings = new Findings()
    const [greedy, other] = [await stage.customer(), await stage.customer()]
    const accounts = await pooled(90, 4, () =>
      create(stage, greedy, ACCOUNTS, { account: { identity_id: 'a' }, create_profile: true }),
    )
    const made = accounts.filter(({ status }) => status === 200)
    findings.check(made.length === ACCOUNTS_MAX, `${made.length} accounts were made, ${ACCOUNTS_MAX} are allowed`)
    const refused = accounts.find(({ status }) => status === 403)
    const hasMeta = refused?.text.includes('quota_exceeded') === true && refused.text.includes('"limit"')
    findings.check(hasMeta, `refused with ${refused?.text.slice(0, 200) ?? 'nothing'}`)
    const profileId = (JSON.parse(made[0]?.text ?? '{}') as { profile_id?: string }).profile_id
    const addresses = await pooled(90, 4, () =>
      create(stage, greedy, ADDRESSES, { profile_id: profileId, crypto_network: 'ETHEREUM' }),
    )
    const given = addresses.filter(({ status }) => status === 200).length
    findings.check(made.length + given <= CREATIONS_PER_DAY, `${made.length + given} records were created in a day`)
    const limited = addresses.filter(({ status }) => status === 429)
    findings.check(
      limited.length > 0 && limited.every(({ headers }) => Number(headers['retry-after']) > 0),
      `no 429 with Retry-After`,
    )
    const others = await pooled(3, 1, () => create(stage, other, ACCOUNTS, { account: { identity_id: 'a' } }))
    findings.check(
      others.every(({ status }) => status === 200),
      `another customer: ${statusText(others)}`,
    )
    return findings.outcome(
      `accounts ${statusText(accounts)}; addresses ${statusText(addresses)}; another customer ${statusText(others)}`,
    )
  },
}
