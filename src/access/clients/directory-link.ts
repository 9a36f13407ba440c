/**
 * The directory in a process without the store: another process sends it everything once, and then numbered changes.
 * The last number is confirmed every second, and a gap is an error, so revoked access is never missed silently. No
 * secret is sent: no secret's hash, no pepper, and no private key.
 */
import { createPublicKey } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'
import { assert } from '../../platform/base/assert.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Directory } from './directory.ts'
import type { Authority, DirectoryContent, DirectoryUpdate, SigningKey } from './directory-records.ts'

const CONFIRM_MILLISECONDS = 1_000

interface SentKey {
  readonly keyId: string
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
}

type SentContent = Omit<DirectoryContent, 'secrets' | 'authority' | 'keys' | 'receiptKeys'> & {
  readonly authority: Omit<Authority, 'pepper'> | undefined
  readonly keys: readonly SentKey[]
}

type SentUpdate = Omit<DirectoryUpdate, 'keys'> & {
  readonly keys?: { readonly keys: readonly SentKey[]; readonly revokedKeyIds: readonly string[] }
}

type Message = { readonly number: number } & (
  | { readonly content: SentContent }
  | { readonly update: SentUpdate }
  /** Whether it is not known what was revoked. */
  | { readonly isStale: boolean }
)

export interface DirectoryExportOptions {
  readonly directory: Directory
  readonly clock: Clock
  readonly isStale: () => boolean
  /** Sends a message to every other process, none of which may be lost. */
  readonly send: (message: Buffer) => void
}

/** The sending end. */
export class DirectoryExport {
  readonly #options: DirectoryExportOptions
  readonly #endWatch: () => void
  #number = 0
  #timer: Timer

  constructor(options: DirectoryExportOptions) {
    const { directory, send } = options
    this.#options = options
    let wasLoaded = directory.loaded
    this.#endWatch = directory.onChange((_affected, update) => {
      this.#number += 1
      send(wasLoaded ? this.#encode({ update: withoutSecrets(update) }) : this.#snapshot())
      wasLoaded = true
    })
    this.#timer = this.#confirmLater()
  }

  /** The first message for another process. Undefined before the directory is loaded: every process then gets it. */
  get snapshot(): Buffer | undefined {
    return this.#options.directory.loaded ? this.#snapshot() : undefined
  }

  stop(): void {
    this.#timer.cancel()
    this.#endWatch()
  }

  #snapshot(): Buffer {
    const { receiptKeys: _, authority, keys = [], ...content } = this.#options.directory.content
    return this.#encode({
      content: { ...content, authority: authority && publicAuthority(authority), keys: keys.map(sentKey) },
    })
  }

  #confirmLater(): Timer {
    return this.#options.clock.schedule(CONFIRM_MILLISECONDS, () => {
      this.#timer = this.#confirmLater()
      this.#options.send(this.#encode({ isStale: this.#options.isStale() }))
    })
  }

  #encode(message: Omit<Message, 'number'>): Buffer {
    return serialize({ number: this.#number, ...message })
  }
}

export interface DirectoryImportOptions {
  readonly directory: Directory
  readonly clock: Clock
  /** The setting `auth.directory_stale_seconds`. 0: never. */
  readonly staleSeconds: number
}

/** The receiving end. */
export class DirectoryImport {
  readonly #options: DirectoryImportOptions
  #number = 0
  #confirmedMilliseconds: number
  #isSenderStale = false

  constructor(options: DirectoryImportOptions) {
    this.#options = options
    this.#confirmedMilliseconds = options.clock.monotonicMilliseconds()
  }

  /** Whether new connections have to be refused, because the sender is stale or no longer confirms the number. */
  get isStale(): boolean {
    const { clock, staleSeconds } = this.#options
    const age = clock.monotonicMilliseconds() - this.#confirmedMilliseconds
    return this.#isSenderStale || (staleSeconds > 0 && age >= staleSeconds * 1_000)
  }

  /** @throws {Error} when a change is missing */
  receive(bytes: Buffer): void {
    const { directory, clock } = this.#options
    const message = deserialize(bytes) as Message
    const { number } = message
    if ('content' in message) {
      const { authority, keys, ...content } = message.content
      // Secrets are never verified in this process.
      const known = authority === undefined ? {} : { authority: { ...authority, pepper: new Uint8Array() } }
      directory.replace({ ...content, ...known, keys: keys.map(verifyingKey) })
    } else if ('update' in message) {
      assert(number === this.#number + 1, `directory changes ${this.#number + 1} to ${number - 1} are missing`)
      const { keys, ...update } = message.update
      const replaced = keys && { ...keys, keys: keys.keys.map(verifyingKey), receiptKeys: [] }
      directory.apply({ ...update, ...(replaced === undefined ? {} : { keys: replaced }) })
    } else {
      assert(number === this.#number, `directory changes ${this.#number + 1} to ${number} are missing`)
      this.#confirmedMilliseconds = clock.monotonicMilliseconds()
      this.#isSenderStale = message.isStale
    }
    this.#number = number
  }
}

function withoutSecrets({ clients, keys, ...update }: DirectoryUpdate): SentUpdate {
  return {
    ...update,
    ...(clients === undefined ? {} : { clients: { ...clients, secrets: [] } }),
    ...(keys === undefined ? {} : { keys: { keys: keys.keys.map(sentKey), revokedKeyIds: keys.revokedKeyIds } }),
  }
}

function publicAuthority({ issuer, audience }: Authority): Omit<Authority, 'pepper'> {
  return { issuer, audience }
}

function sentKey({ keyId, publicKey }: SigningKey): SentKey {
  return { keyId, publicKey: publicKey.export({ format: 'der', type: 'spki' }) }
}

function verifyingKey({ keyId, publicKey }: SentKey): SigningKey {
  return {
    keyId,
    publicKey: createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' }),
    signsFromMilliseconds: 0,
    signsUntilMilliseconds: undefined,
    get privateKey(): never {
      throw new Error('this process signs no tokens')
    },
  }
}
