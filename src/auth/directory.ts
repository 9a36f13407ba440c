/**
 * Who may come in, in memory: customers, clients, the hashes of their secrets, the signing keys and who signs. Every
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
}

export interface DirectoryTruth {
  readonly customers: readonly CustomerRecord[]
  readonly clients: readonly ClientRecord[]
  /** Live secrets only. */
  readonly secrets?: readonly SecretRecord[]
  readonly authority?: Authority
  /** Live keys, the one to sign with last. */
  readonly keys?: readonly SigningKey[]
}

export class Directory {
  #loaded = false
  #customers: ReadonlyMap<string, CustomerRecord> = new Map()
  #clients: ReadonlyMap<string, ClientRecord> = new Map()
  #secretHashes: ReadonlyMap<string, readonly Uint8Array[]> = new Map()
  #keys: ReadonlyMap<string, SigningKey> = new Map()
  #signingKey: SigningKey | undefined
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

  /** Hashes of the client's live secrets; none for a client that is not there. */
  secretHashes(clientId: string): readonly Uint8Array[] {
    return this.#secretHashes.get(clientId) ?? []
  }

  get authority(): Authority | undefined {
    return this.#authority
  }

  /** The key that new tokens are signed with. */
  get signingKey(): SigningKey | undefined {
    return this.#signingKey
  }

  /** The public half of a live key; `undefined` when no live key has this id. */
  verificationKey(keyId: string): KeyObject | undefined {
    return this.#keys.get(keyId)?.publicKey
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
    this.#signingKey = truth.keys?.at(-1)
    this.#authority = truth.authority
    this.#loaded = true
    for (const listener of [...this.#listeners]) listener()
  }
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
