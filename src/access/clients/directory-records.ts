/** The directory's records and the forms in which its content is read: everything, or a part. Types alone. */
import type { KeyObject } from 'node:crypto'
import type { Scope } from '../../contract/scopes.ts'
import type { Plan } from './plans/plan.ts'

export interface CustomerRecord {
  readonly id: string
  readonly name: string
  readonly enabled: boolean
  /** Whether it is on the streaming allow list. */
  readonly streaming: boolean
  /** The plan's name. Absent: the one without bounds. */
  readonly plan?: string
}

export interface ClientRecord {
  readonly clientId: string
  readonly customerId: string
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  /** Symbols of the markets it may publish, with the scope for publishing. Absent: none. */
  readonly publishMarkets?: ReadonlySet<string>
  readonly enabled: boolean
  /** A whole second since the epoch: tokens issued without knowing it are revoked. Absent: none. */
  readonly tokensValidFromSeconds?: number
  /** The plan of its own, which narrows its customer's. Absent: none. */
  readonly plan?: string
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
  /** When its successor starts to sign. Undefined for the newest. */
  readonly signsUntilMilliseconds: number | undefined
}

/** A receipt key. No token is verified with it. */
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

/** The properties by which a token can be revoked. */
export interface TokenIdentity {
  readonly tokenId: string
  readonly keyId: string
  readonly clientId: string
  readonly customerId: string
  readonly issuedAtSeconds: number
  readonly validFromSeconds?: number
  readonly outsideClientName?: string
}

/** The directory's whole content. */
export interface DirectoryContent {
  readonly customers: readonly CustomerRecord[]
  readonly clients: readonly ClientRecord[]
  /** Those with bounds. */
  readonly plans?: readonly Plan[]
  /** Valid secrets only. */
  readonly secrets?: readonly SecretRecord[]
  readonly authority?: Authority
  /** Keys that sign or verify, in signing order. */
  readonly keys?: readonly SigningKey[]
  /** Keys whose tokens became invalid before their time. */
  readonly revokedKeyIds?: readonly string[]
  readonly receiptKeys?: readonly ReceiptKey[]
  readonly revokedTokens?: readonly RevokedToken[]
}

/** Current records. A named id without a record was deleted. */
export interface Records<Record> {
  readonly ids: readonly string[]
  readonly records: readonly Record[]
}

/** A part: the records with these ids or names, and the keys as a whole. */
export interface DirectoryUpdate {
  readonly customers?: Records<CustomerRecord>
  /** With all these clients' valid secrets. */
  readonly clients?: Records<ClientRecord> & { readonly secrets: readonly SecretRecord[] }
  readonly revokedTokens?: Records<RevokedToken>
  /** Plans with bounds, by name. */
  readonly plans?: Records<Plan>
  readonly keys?: {
    readonly keys: readonly SigningKey[]
    readonly revokedKeyIds: readonly string[]
    readonly receiptKeys: readonly ReceiptKey[]
  }
}
