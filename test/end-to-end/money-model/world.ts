/**
 * The people and programs of the model, what they remember, and how they call: reporters, executors, customers, and two
 * operators of whom one confirms what the other requests. Whoever gets no answer repeats the call until there is one.
 */
import { OPERATOR_CALLS } from '../../../src/contract/operator-calls.ts'
import { servedScopes } from '../../../src/contract/scopes.ts'
import type { Random } from '../../support/random.ts'
import { RULES } from '../../support/rules.ts'
import { fetchToken } from '../../support/sample-client.ts'
import type { Bank } from './bank.ts'
import { type Json, type Nodes, pause } from './nodes.ts'

export const OPERATOR_TOKEN = 'token-of-the-random-model-of-money'
export const REPORTERS = ['custody', 'node', 'bank'] as const
export const EXECUTORS = ['treasury', 'branch', 'partner'] as const
const PEOPLE = ['ada', 'tom'] as const

const ROLES = { person: 'admin', reporter: 'deposit_reporter', executor: 'executor' }
const CUSTOMERS = 2
const PROFILES = 3
/** Addresses and accounts outside the service. */
export const OUTSIDE = {
  crypto: { network: 'ETHEREUM', address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' },
} as const
export const BANK_ACCOUNT = { fiat: { fiat_account_id: 'account 1' } } as const
export const UNKNOWN_ADDRESS = `0x${'7'.repeat(40)}`

export interface Customer {
  readonly id: string
  readonly token: string
  readonly profiles: readonly string[]
}

/** Where payments arrive that a rule, or none, handles. */
export interface Place {
  readonly asset: string
  readonly profileId: string | undefined
  readonly crypto?: { readonly network: string; readonly address: string }
  readonly fiat?: { readonly network: string; readonly memo_id: string }
}

/** What a report says of a payment, and what is credited. */
export interface Terms {
  readonly asset: string
  readonly units: bigint
  readonly place: Place
  /** Absent: unattributed. */
  readonly profileId: string | undefined
}

/** A payment that was made once, with what is known of its deposit by answers alone. */
export interface Payment {
  readonly key: string
  readonly number: number
  readonly truth: Terms
  depositId?: string
  /** Whether any report of it was accepted. */
  isSeen: boolean
  isCompleted: boolean
  /** Of the deposit, after the corrections that were acknowledged; those of its first COMPLETED report before. */
  terms: Terms
  /** Every set of terms that it has had. */
  readonly revisions: Terms[]
  /** Of a correction or an assignment that is under way. */
  proposed?: Terms
  /** By the operator, apart from returns. */
  base: 'HELD' | 'REJECTED' | null
  /** Of one that is HELD: its amount alone, and no person, holds it. */
  isHeldByReview: boolean
  isReversed: boolean
  /** From then on no report replaces its terms. */
  isCorrected: boolean
  returns: number
  /** Whether all of its reporters were answered. */
  isReported: boolean
  /** Whether an operator is at work on it: one at a time, so that the state after each is known. */
  isBusy: boolean
}

/** An orchestration that a customer has requested: the answer was that it exists. */
export interface Request {
  readonly refId: string
  readonly profileId: string
  readonly asset: string
  readonly units: bigint
}

/** A ledger entry that was acknowledged. */
export interface Entry {
  readonly id: string
  readonly kind: string
  readonly reference: string
  /** Of a repayment or a write-off. */
  readonly profileId: string | undefined
  readonly legs: readonly { readonly asset: string; readonly units: bigint; readonly isIn: boolean }[]
  isReversed: boolean
  isBusy: boolean
}

export interface Outcome {
  readonly kind: 'done' | 'refused' | 'waits' | 'unknown'
  readonly status: number
  readonly body: Json
}

export class World {
  readonly payments: Payment[] = []
  readonly requests = new Map<string, Request>()
  readonly entries: Entry[] = []
  /** Orchestrations with an acknowledged end, by id: the code. */
  readonly ended = new Map<string, string>()
  readonly violations: string[] = []
  /** How often each thing happened. */
  readonly counts = new Map<string, number>()
  customers: readonly Customer[] = []
  places: readonly Place[] = []
  readonly random: Random
  readonly nodes: Nodes
  readonly bank: Bank
  readonly #tokens = new Map<string, string>()

  constructor(random: Random, nodes: Nodes, bank: Bank) {
    this.random = random
    this.nodes = nodes
    this.bank = bank
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }

  /** Repeats the call until it is answered; whether that was necessary: then an earlier one may have been carried out. */
  async insist(token: string, method: string, path: string, body?: object, listener: 'http' | 'operator' = 'operator') {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.nodes.call(listener, token, method, path, body)
      if (answer !== undefined) return { ...answer, isRepeated: attempt > 1 }
    }
  }

  tokenOf(name: string): string {
    return this.#tokens.get(name) as string
  }

  /** A program's call: a reporter's or an executor's, which needs no second person. */
  program(name: string, method: string, path: string, body: object) {
    return this.insist(this.tokenOf(name), method, path, body)
  }

  /** What an operator reads; throws on any other answer. */
  async read(path: string): Promise<Json> {
    const { status, body } = await this.insist(this.tokenOf(PEOPLE[0]), 'GET', path)
    if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${JSON.stringify(body)}`)
    return body
  }

  /** Every record of a list. */
  async list(path: string, call = (page: string): Promise<Json> => this.read(page)): Promise<readonly Json[]> {
    const items: Json[] = []
    const separator = path.includes('?') ? '&' : '?'
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page: Json = await call(`${path}${separator}limit=1000&page_cursor=${encodeURIComponent(cursor)}`)
      items.push(...page.items)
      cursor = page.next_page_cursor
    }
    return items
  }

  async asCustomer({ token }: Customer, method: string, path: string, body?: object) {
    return await this.insist(token, method, path, body, 'http')
  }

  /**
   * A person's call. Where it needs a second person, that one confirms it, declines it, or does nothing. Now and then the
   * first one tries to confirm alone.
   */
  async act(path: string, body: object, method = 'POST', isSure = false): Promise<Outcome> {
    const [first, second] = this.random.chance(0.5) ? PEOPLE : ([PEOPLE[1], PEOPLE[0]] as const)
    const answer = await this.insist(this.tokenOf(first), method, path, withComment(method, path, body))
    if (answer.status !== 202) return outcomeOf(answer)
    const { request } = answer.body
    if (this.random.chance(0.1)) {
      const own = await this.#confirm(first, request.id)
      if (own.status !== 403)
        this.violations.push(`a person confirmed alone: ${own.status} ${JSON.stringify(own.body)}`)
    }
    const decision = isSure ? 'confirm' : this.random.pick(DECISIONS)
    this.count(`request: ${decision}`)
    if (decision === 'wait') return { kind: 'waits', status: 202, body: request }
    if (decision === 'confirm') return outcomeOf(await this.#confirm(second, request.id))
    const { status, body: document } = await this.decline(second, request.id)
    return { kind: 'refused', status, body: document }
  }

  decline(person: string, id: string) {
    return this.insist(this.tokenOf(person), 'POST', `/change-requests/${id}/decline`, {})
  }

  async #confirm(person: string, id: string) {
    for (let attempt = 1; ; attempt++) {
      const { version = 'none' } = await this.read(`/change-requests/${id}`)
      const answer = await this.insist(this.tokenOf(person), 'POST', `/change-requests/${id}/confirm`, { version })
      // The record has changed since it was read.
      if (answer.body.code !== 'record_changed' || attempt > CONFIRMATIONS_MAX) return answer
    }
  }

  /** Customers with profiles and rules, and people and programs with tokens, through a process without four eyes. */
  async setUp(http: string): Promise<void> {
    const made = async (path: string, body: object, token = OPERATOR_TOKEN, listener?: 'http') => {
      const { status, body: document } = await this.insist(token, 'POST', path, body, listener)
      if (status !== 200) throw new Error(`POST ${path} was answered ${status}: ${JSON.stringify(document)}`)
      return document
    }
    const operators = { person: PEOPLE, reporter: REPORTERS, executor: EXECUTORS }
    for (const [kind, names] of Object.entries(operators)) {
      for (const name of names) {
        await made('/operators', { name, role: ROLES[kind as keyof typeof ROLES] })
        const { token } = await made(`/operators/${name}/tokens`, { name })
        this.#tokens.set(name, token)
      }
    }
    const customers: Customer[] = []
    for (let number = 0; number < CUSTOMERS; number++) {
      const { id } = await made('/customers', { name: `customer ${number}`, streaming: false })
      const scopes = servedScopes(false)
      const client = await made(`/customers/${id}/clients`, { name: 'model', scopes })
      const { client_id: clientId, client_secret: clientSecret } = client
      const token = await tokenFor({ authUrl: http, clientId, clientSecret, scope: scopes.join(' ') })
      const profiles: string[] = []
      for (let profile = 0; profile < PROFILES; profile++) {
        const account = { account: { identity_id: `identity ${profile}` }, create_profile: true }
        profiles.push((await made('/v2/identity/accounts', account, token, 'http')).profile_id)
      }
      customers.push({ id, token, profiles })
    }
    this.customers = customers
    this.places = await this.#makePlaces(made)
  }

  async #makePlaces(
    made: (path: string, body: object, token: string, listener: 'http') => Promise<Json>,
  ): Promise<readonly Place[]> {
    const places: Place[] = [
      { asset: 'USDC', profileId: undefined, crypto: { network: 'ETHEREUM', address: UNKNOWN_ADDRESS } },
    ]
    for (const { token, profiles } of this.customers) {
      for (const [index, profile_id] of profiles.entries()) {
        const other = profiles[(index + 1) % profiles.length] as string
        for (const [number, terms] of rulesOf(other).entries()) {
          const body = { ref_id: `rule ${profile_id} ${number}`, profile_id, ...terms }
          const { rule } = await made(RULES, body, token, 'http')
          const { crypto, fiat } = rule.source
          const common = { asset: terms.source_asset, profileId: profile_id }
          if (fiat !== undefined) places.push({ ...common, fiat: { network: fiat.network, memo_id: fiat.memo_id } })
          else places.push({ ...common, crypto: { network: crypto.network, address: crypto.address } })
        }
        const body = { profile_id, crypto_network: 'ETHEREUM' }
        const { address } = await made('/v2/transfer/deposit-addresses', body, token, 'http')
        places.push({ asset: 'USDC', profileId: profile_id, crypto: { network: 'ETHEREUM', address } })
      }
    }
    return places
  }
}

/** Another process may hear of a new client a moment later. */
async function tokenFor(options: Parameters<typeof fetchToken>[0]): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchToken(options)
    } catch (error) {
      if (attempt === TOKEN_ATTEMPTS_MAX) throw error
      await pause(100)
    }
  }
}

const TOKEN_ATTEMPTS_MAX = 50

/** A comment for the second person, where the call needs one. */
function withComment(method: string, path: string, body: object): object {
  const call = `${method} ${path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, ':id')}`
  const row: object = Object.entries(OPERATOR_CALLS).find(([name]) => name === call)?.[1] ?? {}
  return 'fourEyes' in row ? { ...body, comment: 'please look' } : body
}

const CONFIRMATIONS_MAX = 20
/** Most requests are confirmed. */
const DECISIONS = [...Array(10).fill('confirm'), 'decline', 'wait'] as readonly ('confirm' | 'decline' | 'wait')[]

function rulesOf(otherProfile: string) {
  const crypto = { crypto: { network: 'ETHEREUM' } }
  const memo = { fiat: { network: 'WIRE', account_type: 'ABA' } }
  return [
    { source_asset: 'USDC', destination_asset: 'USDG', source: crypto },
    { source_asset: 'USDC', destination_asset: 'USDC', source: crypto, destination: OUTSIDE },
    { source_asset: 'USDC', destination_asset: 'USD', source: crypto, destination: BANK_ACCOUNT },
    {
      source_asset: 'USDC',
      destination_asset: 'USD',
      source: crypto,
      destination: { profile: { profile_id: otherProfile } },
    },
    { source_asset: 'USD', destination_asset: 'USDC', source: memo, destination: OUTSIDE },
  ]
}

/** A refusal after a repeated call may be that of what the first one has done already. */
function outcomeOf({ status, body, isRepeated }: { status: number; body: Json; isRepeated: boolean }): Outcome {
  if (status === 200) return { kind: 'done', status, body }
  return { kind: isRepeated ? 'unknown' : 'refused', status, body }
}
