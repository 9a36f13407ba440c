/**
 * A pool shared by all clients: connections, bytes, waiting calls. One holder has at most a quarter, and a tenth is
 * kept for holders that have nothing. `SHARED_POOLS` lists every such pool, and `docs/reference/limits.md` has the same
 * table. A holder is a client, an operator, or an address as long as neither is known. A pool only counts: its owner
 * refuses, or cuts.
 */

/**
 * The holder for many clients: loopback, a trusted proxy, and our own work. It has no quarter, and gets nothing from
 * the tenth.
 */
export const NO_HOLDER = ''

interface SharedPoolRow {
  /** Units, or the setting with the number. */
  readonly size: number | string
  readonly unit: 'connections' | 'bytes' | 'bodies' | 'passwords' | 'calls' | 'tokens'
  readonly holder: 'address' | 'client' | 'operator'
}

/** Every pool in the process that several clients share. */
export const SHARED_POOLS = {
  public_connections: { size: 8_192, unit: 'connections', holder: 'address' },
  public_unfinished_bytes: { size: 'http.unfinished_bytes_max', unit: 'bytes', holder: 'address' },
  operator_connections: { size: 256, unit: 'connections', holder: 'address' },
  operator_unfinished_bytes: { size: 67_108_864, unit: 'bytes', holder: 'address' },
  ingest_connections: { size: 256, unit: 'connections', holder: 'address' },
  /** Twice 16 bodies of 64 MiB: they count until their answer, although they are not kept. */
  ingest_unfinished_bytes: { size: 2_147_483_648, unit: 'bytes', holder: 'address' },
  /**
   * Memory for the handshakes on one listener whose tokens are being checked. A check takes less than a millisecond, so
   * a large number is pending only while an external issuer's keys cannot be fetched.
   */
  pending_handshakes: { size: 67_108_864, unit: 'bytes', holder: 'address' },
  /** Where `stream.connections_per_client_max` is more than a quarter, that setting alone divides them. */
  stream_connections: { size: 'stream.connections_max', unit: 'connections', holder: 'client' },
  publishers: { size: 'ingest.connections_max', unit: 'connections', holder: 'client' },
  /** POST /publish bodies read at once. */
  publish_bodies: { size: 16, unit: 'bodies', holder: 'client' },
  unread_answers: { size: 134_217_728, unit: 'bytes', holder: 'client' },
  /**
   * Two are computed, the others wait: one for each connection to the listener, the last for 20 seconds. A browser in
   * which the person has signed in is a holder in its own right.
   */
  password_checks: { size: 256, unit: 'passwords', holder: 'address' },
  /** Four ask the issuer from `operator.oidc.issuer`, the others wait. */
  issuer_logins: { size: 256, unit: 'calls', holder: 'address' },
  /** People with a few pages each. */
  operator_streams: { size: 50, unit: 'connections', holder: 'operator' },
  /**
   * Callers waiting for a store connection. The embedded engine executes some thousand statements per second, a pool
   * some ten thousand, so later callers would not be served in time.
   */
  store_calls: { size: 4_000, unit: 'calls', holder: 'client' },
  /** Verified tokens, about 1 KB each: several per client within some hours. */
  verified_tokens: { size: 10_000, unit: 'tokens', holder: 'client' },
} as const satisfies Readonly<Record<string, SharedPoolRow>>

const SHARE = 1 / 4
const RESERVE = 1 / 10

/** The part kept for holders that have nothing. */
export function reserveOf(size: number): number {
  return size < 1 / SHARE ? 0 : Math.ceil(size * RESERVE)
}

/** `share`: the holder has as much as it may. `pool`: what is left is kept for others. */
export type PoolRefusal = 'share' | 'pool'

export class SharedPool {
  readonly #size: () => number
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(size: number | (() => number)) {
    this.#size = typeof size === 'number' ? () => size : size
  }

  get total(): number {
    return this.#total
  }

  held(holder: string): number {
    return this.#held.get(holder) ?? 0
  }

  /** The most that one holder may have: a quarter, but at least one unit. */
  get shareMax(): number {
    return Math.max(1, Math.floor(this.#size() * SHARE))
  }

  /** Why the holder may not take the amount. Its first is only limited by the pool, however large it is. */
  refusal(holder: string, amount = 1): PoolRefusal | undefined {
    const size = this.#size()
    const held = this.held(holder)
    if (held > 0 && holder !== NO_HOLDER && held + amount > this.shareMax) return 'share'
    const open = held === 0 ? size : size - reserveOf(size)
    return this.#total > 0 && this.#total + amount > open ? 'pool' : undefined
  }

  /** Takes the amount unless it is refused. */
  take(holder: string, amount = 1): PoolRefusal | undefined {
    const refusal = this.refusal(holder, amount)
    if (refusal === undefined) this.add(holder, amount)
    return refusal
  }

  /** Counts an amount without a check. A negative one is given back. */
  add(holder: string, amount: number): void {
    const held = this.held(holder) + amount
    if (held === 0) this.#held.delete(holder)
    else this.#held.set(holder, held)
    this.#total += amount
  }
}
