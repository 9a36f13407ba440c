/**
 * The public keys of an external issuer, fetched from its JWKS address and cached. After the first fetch no request
 * whose token has a known key waits for the issuer: cached keys are used while newer ones are fetched, also while the
 * issuer is unreachable. Tokens with unknown keys wait for a new request; there is at most one at a time, with a minimum interval.
 */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { readKeySet, type SkippedKey } from './jwk-set.ts'
import { type KeySource, keysOfSet } from './jwt.ts'

export interface OutsideKeysOptions {
  /** The setting `auth.jwks_url`. */
  readonly url: string
  /** The algorithms that tokens may be signed with. */
  readonly algorithms: readonly string[]
  readonly clock: Clock
  readonly log: Log
}

/**
 * Age from which keys are fetched again. While the issuer answers, a key that it withdrew is accepted for not much
 * longer.
 */
export const KEYS_FRESH_MILLISECONDS = 300_000
/**
 * The minimum time between two requests. A key that is used right after its publication is unknown for at most this
 * time.
 */
const PAUSE_MILLISECONDS = 5_000
const REQUEST_MILLISECONDS_MAX = 5_000
const DOCUMENT_CHARACTERS_MAX = 1_048_576

export class OutsideKeys {
  readonly #options: OutsideKeysOptions
  #keys: KeySource | undefined
  #fetchedMilliseconds = 0
  #askedMilliseconds: number | undefined
  #asking: Promise<void> | undefined
  /** The keys that were last reported as unusable. */
  #reported = '[]'

  constructor(options: OutsideKeysOptions) {
    this.#options = options
  }

  /** The keys; those of the first request have to be waited for. `undefined`: there are none yet. */
  async current(): Promise<KeySource | undefined> {
    if (this.#keys === undefined) await this.#ask()
    else if (this.#now() - this.#fetchedMilliseconds >= KEYS_FRESH_MILLISECONDS) void this.#ask()
    return this.#keys
  }

  /**
   * The keys after the issuer was asked again, for a token whose key is unknown; `undefined`: it was asked just now.
   */
  async newer(): Promise<KeySource | undefined> {
    const before = this.#keys
    await this.#ask()
    return this.#keys === before ? undefined : this.#keys
  }

  /** Resolves when the request under way, or a new one where it is time for one, has ended, well or not. */
  #ask(): Promise<void> {
    if (this.#asking !== undefined) return this.#asking
    const now = this.#now()
    if (this.#askedMilliseconds !== undefined && now - this.#askedMilliseconds < PAUSE_MILLISECONDS) {
      return Promise.resolve()
    }
    this.#askedMilliseconds = now
    this.#asking = this.#fetch().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #fetch(): Promise<void> {
    const { url, algorithms, log } = this.#options
    try {
      const set = readKeySet(await fetchDocument(url), algorithms)
      if (set === undefined) throw new Error('the answer is not a JWK Set')
      this.#report(set.skipped)
      this.#keys = keysOfSet(set.keys)
      this.#fetchedMilliseconds = this.#now()
    } catch (error) {
      log.warn({ err: error, url, kept: this.#keys !== undefined }, 'the keys of the external issuer were not fetched')
    }
  }

  /** Logs the skipped keys, unless the same ones were logged last. */
  #report(skipped: readonly SkippedKey[]): void {
    const text = JSON.stringify(skipped)
    if (text === this.#reported) return
    this.#reported = text
    const { url, log } = this.#options
    if (skipped.length > 0) log.warn({ url, keys: skipped }, 'keys of the external issuer are not used')
  }

  #now(): number {
    return this.#options.clock.monotonicMilliseconds()
  }
}

async function fetchDocument(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    // The address is configured; redirects are not followed.
    redirect: 'error',
    signal: AbortSignal.timeout(REQUEST_MILLISECONDS_MAX),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`it answered with status ${response.status}`)
  }
  const decoder = new TextDecoder()
  let text = ''
  for await (const part of response.body ?? []) {
    text += decoder.decode(part, { stream: true })
    if (text.length > DOCUMENT_CHARACTERS_MAX) throw new Error('its answer is too long')
  }
  return JSON.parse(text)
}
