/**
 * Who may come in, in memory: customers, clients, the hashes of their secrets, the signing keys, who signs, and what was
 * revoked. Every
 * check of a token or a secret reads this and nothing else, so an unreachable store refuses nobody who was known. A
 * truth is put in place whole; readers never see half of one. It never reads the store: `directory-loader` does.
 */
import type { KeyObject } from 'node:crypto'
import type { Scope } from '../contract/scopes.ts'

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
  readonly enabled: boolean
  /** A whole second since the epoch: tokens issued before it are revoked. Absent: none are for that. */
  readonly tokensValidFromSeconds?: number
}

export interface SecretRecord {
  readonly clientId: string
  readonly hash: Uint8Array
}

/** Who issues tokens here, the same on all nodes. */
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
  /** When its successor takes over; undefined for the newest. */
  readonly signsUntilMilliseconds: number | undefined
}

export interface RevokedToken {
  readonly tokenId: string
  /** When the token itself expires. */
  readonly expiresAtMilliseconds: number
}

/** What a revocation can be about. */
export interface TokenIdentity {
  readonly tokenId: string
  readonly keyId: string
  readonly clientId: string
  readonly customerId: string
  readonly issuedAtSeconds: number
  readonly outsideClientName?: string
}

export interface DirectoryTruth {
  readonly customers: readonly CustomerRecord[]
  readonly clients: readonly ClientRecord[]
  /** Live secrets only. */
  readonly secrets?: readonly SecretRecord[]
  readonly authority?: Authority
  /** Live keys, in the order in which they sign. */
  readonly keys?: readonly SigningKey[]
  /** Keys whose tokens became invalid before their time. */
  readonly revokedKeyIds?: readonly string[]
  readonly revokedTokens?: readonly RevokedToken[]
}

export class Directory {
  #loaded = false
  #customers: ReadonlyMap<string, CustomerRecord> = new Map()
  #clients: ReadonlyMap<string, ClientRecord> = new Map()
  #secretHashes: ReadonlyMap<string, readonly Uint8Array[]> = new Map()
  #clientsByName: ReadonlyMap<string, ClientRecord> = new Map()
  #customersByName: ReadonlyMap<string, CustomerRecord> = new Map()
  #keys: ReadonlyMap<string, SigningKey> = new Map()
  #revokedKeyIds: ReadonlySet<string> = new Set()
  #revokedTokens: ReadonlyMap<string, RevokedToken> = new Map()
  #authority: Authority | undefined
  readonly #listeners = new Set<() => void>()

  /** True once a complete truth has been loaded. */
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

  /** The client that a token speaks for: by its id, or of an outside issuer by its name within the customer. */
  clientOf({ clientId, customerId, outsideClientName }: TokenIdentity): ClientRecord | undefined {
    if (outsideClientName === undefined) return this.#clients.get(clientId)
    return this.#clientsByName.get(nameKey(customerId, outsideClientName))
  }

  /** Hashes of the client's live secrets; none for a client that is not there. */
  secretHashes(clientId: string): readonly Uint8Array[] {
    return this.#secretHashes.get(clientId) ?? []
  }

  get authority(): Authority | undefined {
    return this.#authority
  }

  /** Live keys, in the order in which they sign. */
  get keys(): readonly SigningKey[] {
    return [...this.#keys.values()]
  }

  /**
   * The key that new tokens are signed with now: the first that no successor has taken over from. Of a clock that is
   * behind every key's time that is the earliest, so that a clock set back stops nobody.
   */
  signingKeyAt(nowMilliseconds: number): SigningKey | undefined {
    for (const key of this.#keys.values()) {
      if (key.signsUntilMilliseconds === undefined || key.signsUntilMilliseconds > nowMilliseconds) return key
    }
    return undefined
  }

  /** The public half of a live key; `undefined` when no live key has this id. */
  verificationKey(keyId: string): KeyObject | undefined {
    return this.#keys.get(keyId)?.publicKey
  }

  get revokedTokens(): Iterable<RevokedToken> {
    return this.#revokedTokens.values()
  }

  /** Whether a token that was good has been taken back: it alone, all of its client, or all of its key. */
  isRevoked(token: TokenIdentity): boolean {
    if (this.#revokedTokens.has(token.tokenId) || this.#revokedKeyIds.has(token.keyId)) return true
    return token.issuedAtSeconds < (this.clientOf(token)?.tokensValidFromSeconds ?? 0)
  }

  /** Calls `listener` after every applied change; returns the function that ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Puts a truth in place (used by the loader and by tests). */
  replace(truth: DirectoryTruth): void {
    this.#customers = new Map(truth.customers.map((customer) => [customer.id, customer]))
    this.#clients = new Map(truth.clients.map((client) => [client.clientId, client]))
    this.#secretHashes = hashesByClient(truth.secrets ?? [])
    this.#keys = new Map(truth.keys?.map((key) => [key.keyId, key]))
    this.#clientsByName = new Map(truth.clients.map((client) => [nameKey(client.customerId, client.name), client]))
    this.#customersByName = new Map(truth.customers.map((customer) => [customer.name, customer]))
    this.#revokedKeyIds = new Set(truth.revokedKeyIds)
    this.#revokedTokens = new Map(truth.revokedTokens?.map((token) => [token.tokenId, token]))
    this.#authority = truth.authority
    this.#loaded = true
    for (const listener of [...this.#listeners]) listener()
  }
}

/** Ids hold no slash, so no two pairs have the same text. */
function nameKey(customerId: string, clientName: string): string {
  return `${customerId}/${clientName}`
}

function hashesByClient(secrets: readonly SecretRecord[]): Map<string, Uint8Array[]> {
  const hashes = new Map<string, Uint8Array[]>()
  for (const { clientId, hash } of secrets) {
    const list = hashes.get(clientId)
    if (list === undefined) hashes.set(clientId, [hash])
    else list.push(hash)
  }
  return hashes
}
