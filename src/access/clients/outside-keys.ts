/**
 * An external issuer's public keys, fetched from its JWKS address and cached. After the first fetch no request with a
 * known key waits for the issuer: cached keys are used while newer ones are fetched, also while the issuer is
 * unreachable. Tokens with unknown keys wait for a new request. There is at most one at a time, with a minimum
 * interval.
 */
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { RefreshedValue } from '../../platform/base/refreshed-value.ts'
import { readKeySet, type SkippedKey } from './jwk-set.ts'
import { type KeySource, keysOfSet } from './jwt.ts'

export interface OutsideKeysOptions {
  /** The setting `auth.jwks_url`. */
  readonly url: string
  /** The algorithms allowed for tokens. */
  readonly algorithms: readonly string[]
  readonly clock: Clock
  readonly log: Log
}

/**
 * The age at which keys are fetched again. While the issuer answers, a withdrawn key is accepted for not much longer.
 */
export const KEYS_FRESH_MILLISECONDS = 300_000
/** The minimum time between two requests. A key used right after its publication is unknown for at most this time. */
const PAUSE_MILLISECONDS = 5_000
const REQUEST_MILLISECONDS_MAX = 5_000
const DOCUMENT_CHARACTERS_MAX = 1_048_576

export class OutsideKeys {
  readonly #options: OutsideKeysOptions
  readonly #keys: RefreshedValue<KeySource>
  /** The last keys reported as unusable. */
  #reported = '[]'

  constructor(options: OutsideKeysOptions) {
    this.#options = options
    const { url, clock, log } = options
    this.#keys = new RefreshedValue({
      clock,
      freshMilliseconds: KEYS_FRESH_MILLISECONDS,
      pauseMilliseconds: PAUSE_MILLISECONDS,
      fetch: () => this.#fetch(),
      onFailure: (error, kept) => log.warn({ err: error, url, kept }, 'the external issuer’s keys were not fetched'),
    })
  }

  /** The keys. Only the first request has to be awaited. `undefined`: there are none yet. */
  current(): Promise<KeySource | undefined> {
    return this.#keys.current()
  }

  /**
   * The keys after the issuer was asked again, for a token whose key is unknown. `undefined`: it was asked just now.
   */
  newer(): Promise<KeySource | undefined> {
    return this.#keys.newer()
  }

  async #fetch(): Promise<KeySource> {
    const { url, algorithms, clock } = this.#options
    const request = new AbortController()
    const patience = clock.schedule(REQUEST_MILLISECONDS_MAX, () => {
      request.abort(new Error(`no complete answer within ${REQUEST_MILLISECONDS_MAX} ms`))
    })
    const document = await fetchDocument(url, request.signal).finally(() => patience.cancel())
    const set = readKeySet(document, algorithms)
    if (set === undefined) throw new Error('the answer is not a JWK Set')
    this.#report(set.skipped)
    return keysOfSet(set.keys)
  }

  /** Logs the skipped keys, unless the same ones were logged last. */
  #report(skipped: readonly SkippedKey[]): void {
    const text = JSON.stringify(skipped)
    if (text === this.#reported) return
    this.#reported = text
    const { url, log } = this.#options
    if (skipped.length > 0) log.warn({ url, keys: skipped }, 'some keys from the external issuer are not used')
  }
}

async function fetchDocument(url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json, application/jwk-set+json' },
    // The address is configured, and redirects are not followed.
    redirect: 'error',
    signal,
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
