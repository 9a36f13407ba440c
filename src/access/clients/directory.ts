/**
 * Customers, clients, plans, secret hashes, token and receipt keys, the issuer and the revocations, in memory. Every token or
 * secret check reads this and never the store, so known clients are accepted while it is unreachable. Content is
 * replaced or updated in one step, and no partial change is visible. Listeners learn which tokens a change can affect,
 * whether a change was read or a full read found it. It never reads the store: `directory-loader` does.
 */
import type { KeyObject } from 'node:crypto'
import { AffectedCollector, type AffectedTokens, clientKey } from './affected-tokens.ts'
import type {
  Authority,
  ClientRecord,
  CustomerRecord,
  DirectoryContent,
  DirectoryUpdate,
  ReceiptKey,
  Records,
  RevokedToken,
  SecretRecord,
  SigningKey,
  TokenIdentity,
} from './directory-records.ts'
import { type HeldPlan, type HeldPlans, isEqualPlan, NO_PLANS, type Plan } from './plans/plan.ts'
import { areEqualHashes, differentRecords, isEqualClient, isEqualCustomer } from './record-differences.ts'

/** Called with the tokens that a change can affect, perhaps none, and the changed content. */
export type DirectoryListener = (affected: AffectedTokens, update: DirectoryUpdate) => void

export class Directory {
  #loaded = false
  #customers = new Map<string, CustomerRecord>()
  #clients = new Map<string, ClientRecord>()
  #secretHashes = new Map<string, readonly Uint8Array[]>()
  #clientsByName = new Map<string, ClientRecord>()
  #customersByName = new Map<string, CustomerRecord>()
  #plans = new Map<string, Plan>()
  #keys: ReadonlyMap<string, SigningKey> = new Map()
  #revokedKeyIds: ReadonlySet<string> = new Set()
  #receiptKeys: readonly ReceiptKey[] = []
  #receiptSigningKey: ReceiptKey | undefined
  #revokedTokens = new Map<string, RevokedToken>()
  #authority: Authority | undefined
  readonly #listeners = new Set<DirectoryListener>()

  /** True once everything has been loaded. */
  get loaded(): boolean {
    return this.#loaded
  }

  client(clientId: string): ClientRecord | undefined {
    return this.#clients.get(clientId)
  }

  customer(customerId: string): CustomerRecord | undefined {
    return this.#customers.get(customerId)
  }

  /** The customer with this id, or else this exact name. */
  customerNamed(idOrName: string): CustomerRecord | undefined {
    return this.#customers.get(idOrName) ?? this.#customersByName.get(idOrName)
  }

  /** The client that a token speaks for: by its id, or for an external issuer by its name within the customer. */
  clientOf({ clientId, customerId, outsideClientName }: TokenIdentity): ClientRecord | undefined {
    if (outsideClientName === undefined) return this.#clients.get(clientId)
    return this.#clientsByName.get(clientKey({ customerId, name: outsideClientName }))
  }

  /** The plans that bound what a token may use. */
  plansOf(token: TokenIdentity): HeldPlans {
    const customer = this.#customers.get(token.customerId)
    const client = this.clientOf(token)
    if (customer?.plan === undefined && client?.plan === undefined) return NO_PLANS
    const held: HeldPlan[] = []
    if (customer?.plan !== undefined) {
      held.push({ plan: this.#planNamed(customer.plan), holder: 'customer', holderId: token.customerId })
    }
    if (client?.plan !== undefined) {
      held.push({ plan: this.#planNamed(client.plan), holder: 'client', holderId: token.clientId })
    }
    return held
  }

  /** Hashes of the client's valid secrets. Empty for an unknown client. */
  secretHashes(clientId: string): readonly Uint8Array[] {
    return this.#secretHashes.get(clientId) ?? []
  }

  get authority(): Authority | undefined {
    return this.#authority
  }

  /** Keys that sign or verify, in signing order. */
  get keys(): readonly SigningKey[] {
    return [...this.#keys.values()]
  }

  /**
   * The key that signs new tokens now: the first without an active successor. If the clock is before every key's time,
   * it is the earliest key, so tokens are issued after the clock was set back.
   */
  signingKeyAt(nowMilliseconds: number): SigningKey | undefined {
    for (const key of this.#keys.values()) {
      if (key.signsUntilMilliseconds === undefined || key.signsUntilMilliseconds > nowMilliseconds) return key
    }
    return undefined
  }

  /** A verifying key's public half, or `undefined` when no such key has this id. */
  verificationKey(keyId: string): KeyObject | undefined {
    return this.#keys.get(keyId)?.publicKey
  }

  /** All receipt keys, the oldest first. */
  get receiptKeys(): readonly ReceiptKey[] {
    return this.#receiptKeys
  }

  /** The key with its private part. Undefined when no receipt key has been made. */
  get receiptSigningKey(): ReceiptKey | undefined {
    return this.#receiptSigningKey
  }

  get revokedTokens(): Iterable<RevokedToken> {
    return this.#revokedTokens.values()
  }

  /** Whether a valid token has been revoked: by itself, with all its client's tokens, or with its key. */
  isRevoked(token: TokenIdentity): boolean {
    if (this.#revokedTokens.has(token.tokenId) || this.#revokedKeyIds.has(token.keyId)) return true
    // Not by the time of issue, where the token names a revocation: its issuer's clock may be ahead.
    return (token.validFromSeconds ?? token.issuedAtSeconds) < (this.clientOf(token)?.tokensValidFromSeconds ?? 0)
  }

  /** The whole content without the secrets. */
  get content(): DirectoryContent {
    return {
      customers: [...this.#customers.values()],
      clients: [...this.#clients.values()],
      plans: [...this.#plans.values()],
      ...(this.#authority === undefined ? {} : { authority: this.#authority }),
      keys: this.keys,
      revokedKeyIds: [...this.#revokedKeyIds],
      receiptKeys: this.#receiptKeys,
      revokedTokens: [...this.#revokedTokens.values()],
    }
  }

  /** Calls `listener` after every applied change. Returns the function that removes it. */
  onChange(listener: DirectoryListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Replaces everything (used by the loader and by tests). What is equal stays as it is. */
  replace(content: DirectoryContent): void {
    const affected = new AffectedCollector()
    affected.all = !this.#loaded
    const {
      customers,
      plans = [],
      revokedTokens = [],
      keys = [],
      revokedKeyIds = [],
      receiptKeys = [],
      authority,
    } = content
    this.#authority = authority
    this.#loaded = true
    const update: DirectoryUpdate = {
      customers: differentRecords(this.#customers, customers, ({ id }) => id, isEqualCustomer),
      clients: this.#differentClients(content),
      plans: differentRecords(this.#plans, plans, ({ name }) => name, isEqualPlan),
      revokedTokens: differentRecords(
        this.#revokedTokens,
        revokedTokens,
        ({ tokenId }) => tokenId,
        (before, after) => before.expiresAtMilliseconds === after.expiresAtMilliseconds,
      ),
      keys: { keys, revokedKeyIds, receiptKeys },
    }
    this.#apply(update, affected)
  }

  /** Replaces part of the content. */
  apply(update: DirectoryUpdate): void {
    this.#apply(update, new AffectedCollector())
  }

  #apply(update: DirectoryUpdate, affected: AffectedCollector): void {
    const { customers, clients, plans, revokedTokens, keys } = update
    if (customers !== undefined) this.#applyCustomers(customers, affected)
    if (clients !== undefined) this.#applyClients(clients, affected)
    if (plans !== undefined) this.#applyPlans(plans, affected)
    if (revokedTokens !== undefined) this.#applyRevokedTokens(revokedTokens, affected)
    if (keys !== undefined) this.#replaceKeys(keys, affected)
    for (const listener of [...this.#listeners]) listener(affected, update)
  }

  #differentClients({ clients, secrets = [] }: DirectoryContent): NonNullable<DirectoryUpdate['clients']> {
    const hashes = hashesByClient(secrets)
    const different = differentRecords(
      this.#clients,
      clients,
      ({ clientId }) => clientId,
      (before, after) =>
        isEqualClient(before, after) &&
        areEqualHashes(this.secretHashes(after.clientId), hashes.get(after.clientId) ?? []),
    )
    const ids = new Set(different.ids)
    return { ...different, secrets: secrets.filter(({ clientId }) => ids.has(clientId)) }
  }

  #applyCustomers({ ids, records }: Records<CustomerRecord>, affected: AffectedCollector): void {
    const after = new Map(records.map((customer) => [customer.id, customer]))
    for (const id of ids) {
      const previous = this.#customers.get(id)
      affected.customer(previous, after.get(id))
      if (previous !== undefined) this.#customersByName.delete(previous.name)
      this.#customers.delete(id)
    }
    for (const customer of records) {
      this.#customers.set(customer.id, customer)
      this.#customersByName.set(customer.name, customer)
    }
  }

  #applyClients({ ids, records, secrets }: NonNullable<DirectoryUpdate['clients']>, affected: AffectedCollector): void {
    const after = new Map(records.map((client) => [client.clientId, client]))
    for (const id of ids) {
      const previous = this.#clients.get(id)
      affected.client(previous, after.get(id))
      if (previous !== undefined) this.#clientsByName.delete(clientKey(previous))
      this.#clients.delete(id)
      this.#secretHashes.delete(id)
    }
    for (const client of records) {
      this.#clients.set(client.clientId, client)
      this.#clientsByName.set(clientKey(client), client)
    }
    for (const [clientId, hashes] of hashesByClient(secrets)) this.#secretHashes.set(clientId, hashes)
  }

  #applyPlans({ ids, records }: Records<Plan>, affected: AffectedCollector): void {
    const after = new Map(records.map((plan) => [plan.name, plan]))
    const changed = new Set<string>()
    for (const name of ids) {
      const [previous, next] = [this.#plans.get(name), after.get(name)]
      if (previous !== undefined && next !== undefined && isEqualPlan(previous, next)) continue
      changed.add(name)
      if (next === undefined) this.#plans.delete(name)
      else this.#plans.set(name, next)
    }
    if (changed.size === 0) return
    const hasChanged = ({ plan }: { readonly plan?: string }) => plan !== undefined && changed.has(plan)
    for (const customer of this.#customers.values()) if (hasChanged(customer)) affected.planOfCustomer(customer)
    for (const client of this.#clients.values()) if (hasChanged(client)) affected.planOfClient(client)
  }

  /** A plan that is not known yet includes nothing. */
  #planNamed(name: string): Plan {
    return this.#plans.get(name) ?? { name, markets: new Set(), channels: new Set() }
  }

  #applyRevokedTokens({ ids, records }: Records<RevokedToken>, affected: AffectedCollector): void {
    for (const id of ids) this.#revokedTokens.delete(id)
    for (const token of records) {
      this.#revokedTokens.set(token.tokenId, token)
      affected.revokedTokenOf(token.clientId)
    }
  }

  #replaceKeys(content: NonNullable<DirectoryUpdate['keys']>, affected: AffectedCollector): void {
    const { keys, revokedKeyIds, receiptKeys } = content
    const revoked = new Set(revokedKeyIds)
    affected.revokedKeys(this.#revokedKeyIds, revoked)
    this.#keys = new Map(keys.map((key) => [key.keyId, key]))
    this.#revokedKeyIds = revoked
    this.#receiptKeys = receiptKeys
    this.#receiptSigningKey = receiptKeys.find(({ privateKey }) => privateKey !== undefined)
  }
}

function hashesByClient(secrets: readonly SecretRecord[]): Map<string, readonly Uint8Array[]> {
  const hashes = new Map<string, Uint8Array[]>()
  for (const { clientId, hash } of secrets) {
    const list = hashes.get(clientId)
    if (list === undefined) hashes.set(clientId, [hash])
    else list.push(hash)
  }
  return hashes
}
