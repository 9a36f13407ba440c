/**
 * Customers, clients, the hashes of their secrets, the keys of tokens and receipts, the issuer and what was revoked, in memory. Every
 * check of a token or a secret reads this and never the store, so known clients are accepted while it is unreachable.
 * Content is replaced or updated in one step; no partial change is visible. Listeners learn which tokens a change can
 * affect, whether it was read as a change or found by reading everything. It never reads the store: `directory-loader` does.
 */
import type { KeyObject } from 'node:crypto'
import type { Scope } from '../contract/scopes.ts'
import { AffectedCollector, type AffectedTokens, clientKey } from './affected-tokens.ts'
import { areEqualHashes, differentRecords, isEqualClient, isEqualCustomer, type Records } from './record-differences.ts'

export interface CustomerRecord {
  readonly id: string
  readonly name: string
  readonly enabled: boolean
  /** Whether it is on the streaming allow list. */
  readonly streaming: boolean
}

export interface ClientRecord {
  readonly clientId: string
  readonly customerId: string
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** Symbols of the markets that it may publish, with the scope for publishing. Absent: none. */
  readonly publishMarkets?: ReadonlySet<string>
  readonly enabled: boolean
  /** A whole second since the epoch: tokens issued before it are revoked. Absent: none. */
  readonly tokensValidFromSeconds?: number
}

export interface SecretRecord {
  readonly clientId: string
  readonly hash: Uint8Array
}

/** The issuer of our tokens, the same on all nodes. */
export interface Authority {
  readonly issuer: string
  readonly audience: string
  readonly pepper: Uint8Array
}

export interface SigningKey {
  readonly keyId: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly signsFromMilliseconds: number
  /** When its successor starts to sign; undefined for the newest. */
  readonly signsUntilMilliseconds: number | undefined
}

/** A key of receipts; no token is verified with it. */
export interface ReceiptKey {
  readonly keyId: string
  readonly publicKey: KeyObject
  /** Absent once another key signs. */
  readonly privateKey?: KeyObject
}

export interface RevokedToken {
  readonly tokenId: string
  readonly clientId: string
  /** When the token itself expires. */
  readonly expiresAtMilliseconds: number
}

/** The properties of a token by which it can be revoked. */
export interface TokenIdentity {
  readonly tokenId: string
  readonly keyId: string
  readonly clientId: string
  readonly customerId: string
  readonly issuedAtSeconds: number
  readonly outsideClientName?: string
}

/** The whole content of the directory. */
export interface DirectoryContent {
  readonly customers: readonly CustomerRecord[]
  readonly clients: readonly ClientRecord[]
  /** Valid secrets only. */
  readonly secrets?: readonly SecretRecord[]
  readonly authority?: Authority
  /** Keys that sign or verify, in the order in which they sign. */
  readonly keys?: readonly SigningKey[]
  /** Keys whose tokens became invalid before their time. */
  readonly revokedKeyIds?: readonly string[]
  readonly receiptKeys?: readonly ReceiptKey[]
  readonly revokedTokens?: readonly RevokedToken[]
}

/** Part of the content: the records with these ids, and the keys as a whole. */
export interface DirectoryUpdate {
  readonly customers?: Records<CustomerRecord>
  /** With all valid secrets of these clients. */
  readonly clients?: Records<ClientRecord> & { readonly secrets: readonly SecretRecord[] }
  readonly revokedTokens?: Records<RevokedToken>
  readonly keys?: {
    readonly keys: readonly SigningKey[]
    readonly revokedKeyIds: readonly string[]
    readonly receiptKeys: readonly ReceiptKey[]
  }
}

export class Directory {
  #loaded = false
  #customers = new Map<string, CustomerRecord>()
  #clients = new Map<string, ClientRecord>()
  #secretHashes = new Map<string, readonly Uint8Array[]>()
  #clientsByName = new Map<string, ClientRecord>()
  #customersByName = new Map<string, CustomerRecord>()
  #keys: ReadonlyMap<string, SigningKey> = new Map()
  #revokedKeyIds: ReadonlySet<string> = new Set()
  #receiptKeys: readonly ReceiptKey[] = []
  #receiptSigningKey: ReceiptKey | undefined
  #revokedTokens = new Map<string, RevokedToken>()
  #authority: Authority | undefined
  readonly #listeners = new Set<(affected: AffectedTokens) => void>()

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

  /** The customer that has this id, or else this exact name. */
  customerNamed(idOrName: string): CustomerRecord | undefined {
    return this.#customers.get(idOrName) ?? this.#customersByName.get(idOrName)
  }

  /** The client that a token speaks for: by its id, or of an external issuer by its name within the customer. */
  clientOf({ clientId, customerId, outsideClientName }: TokenIdentity): ClientRecord | undefined {
    if (outsideClientName === undefined) return this.#clients.get(clientId)
    return this.#clientsByName.get(clientKey({ customerId, name: outsideClientName }))
  }

  /** Hashes of the client's valid secrets; empty for an unknown client. */
  secretHashes(clientId: string): readonly Uint8Array[] {
    return this.#secretHashes.get(clientId) ?? []
  }

  get authority(): Authority | undefined {
    return this.#authority
  }

  /** Keys that sign or verify, in the order in which they sign. */
  get keys(): readonly SigningKey[] {
    return [...this.#keys.values()]
  }

  /**
   * The key that new tokens are signed with now: the first without an active successor. If the clock is before every
   * key's time, it is the earliest key, so that tokens are issued after the clock was set back.
   */
  signingKeyAt(nowMilliseconds: number): SigningKey | undefined {
    for (const key of this.#keys.values()) {
      if (key.signsUntilMilliseconds === undefined || key.signsUntilMilliseconds > nowMilliseconds) return key
    }
    return undefined
  }

  /** The public half of a key that verifies; `undefined` when no such key has this id. */
  verificationKey(keyId: string): KeyObject | undefined {
    return this.#keys.get(keyId)?.publicKey
  }

  /** All keys of receipts, the oldest first. */
  get receiptKeys(): readonly ReceiptKey[] {
    return this.#receiptKeys
  }

  /** The key that has its private part; undefined when no key of receipts has been made. */
  get receiptSigningKey(): ReceiptKey | undefined {
    return this.#receiptSigningKey
  }

  get revokedTokens(): Iterable<RevokedToken> {
    return this.#revokedTokens.values()
  }

  /** Whether a valid token has been revoked: by itself, with all tokens of its client, or with its key. */
  isRevoked(token: TokenIdentity): boolean {
    if (this.#revokedTokens.has(token.tokenId) || this.#revokedKeyIds.has(token.keyId)) return true
    return token.issuedAtSeconds < (this.clientOf(token)?.tokensValidFromSeconds ?? 0)
  }

  /**
   * Calls `listener` after every applied change, with the tokens that it can affect, perhaps none; returns the function
   * that removes it.
   */
  onChange(listener: (affected: AffectedTokens) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Replaces everything (used by the loader and by tests). What is equal stays as it is. */
  replace(content: DirectoryContent): void {
    const affected = new AffectedCollector()
    affected.all = !this.#loaded
    const { customers, revokedTokens = [] } = content
    this.#applyCustomers(
      differentRecords(this.#customers, customers, ({ id }) => id, isEqualCustomer),
      affected,
    )
    this.#applyClients(this.#differentClients(content), affected)
    this.#applyRevokedTokens(
      differentRecords(
        this.#revokedTokens,
        revokedTokens,
        ({ tokenId }) => tokenId,
        (before, after) => before.expiresAtMilliseconds === after.expiresAtMilliseconds,
      ),
      affected,
    )
    this.#replaceKeys(content, affected)
    this.#authority = content.authority
    this.#loaded = true
    this.#notify(affected)
  }

  /** Replaces part of the content. */
  apply({ customers, clients, revokedTokens, keys }: DirectoryUpdate): void {
    const affected = new AffectedCollector()
    if (customers !== undefined) this.#applyCustomers(customers, affected)
    if (clients !== undefined) this.#applyClients(clients, affected)
    if (revokedTokens !== undefined) this.#applyRevokedTokens(revokedTokens, affected)
    if (keys !== undefined) this.#replaceKeys(keys, affected)
    this.#notify(affected)
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

  #applyRevokedTokens({ ids, records }: Records<RevokedToken>, affected: AffectedCollector): void {
    for (const id of ids) this.#revokedTokens.delete(id)
    for (const token of records) {
      this.#revokedTokens.set(token.tokenId, token)
      affected.revokedTokenOf(token.clientId)
    }
  }

  #replaceKeys(
    content: Pick<DirectoryContent, 'keys' | 'revokedKeyIds' | 'receiptKeys'>,
    affected: AffectedCollector,
  ): void {
    const { keys, revokedKeyIds, receiptKeys = [] } = content
    const revoked = new Set(revokedKeyIds)
    affected.revokedKeys(this.#revokedKeyIds, revoked)
    this.#keys = new Map(keys?.map((key) => [key.keyId, key]))
    this.#revokedKeyIds = revoked
    this.#receiptKeys = receiptKeys
    this.#receiptSigningKey = receiptKeys.find(({ privateKey }) => privateKey !== undefined)
  }

  #notify(affected: AffectedTokens): void {
    for (const listener of [...this.#listeners]) listener(affected)
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
