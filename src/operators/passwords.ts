/**
 * Passwords of operators: scrypt (RFC 7914) with a random salt, computed in the thread pool and not on the event loop. At most
 * two are computed at a time, which bounds memory and leaves threads for the rest of the program; the number of callers that
 * wait is bounded, and so is the part of one address.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { SHARED_POOLS, SharedPool } from '../base/shared-pool.ts'
import { Problem } from '../http/problem.ts'

/** The parameters of scrypt. */
interface Cost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** 64 MiB and about 0.15 seconds for each. A password alone is not enough: a one-time code is needed too. */
const COST: Cost = { N: 65_536, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const AT_ONCE_MAX = 2

/** Names the form `scrypt$N$r$p$salt$hash`, the last two in base64url. */
const FORM = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/

export class Passwords {
  readonly #cost: Cost
  /** Compared with when there is no operator, so that an unknown name takes as long as a known one. */
  readonly #unknown: string
  readonly #pool = new SharedPool(SHARED_POOLS.password_checks.size)
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** @param cost of new passwords; each stored one names its own */
  constructor(cost = COST) {
    this.#cost = cost
    this.#unknown = storedForm(cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))
  }

  /**
   * The text to store for a password.
   * @param holder the address that asks, as the holder of a shared pool
   */
  async hash(password: string, holder: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    return storedForm(this.#cost, salt, await this.#derive(password, salt, this.#cost, holder))
  }

  /** @param stored undefined: no password is right, which takes as long to find out */
  async verify(password: string, stored: string | undefined, holder: string): Promise<boolean> {
    const [, N, r, p, salt = '', hash = ''] = FORM.exec(stored ?? this.#unknown) ?? []
    const cost = { N: Number(N), r: Number(r), p: Number(p) }
    const derived = await this.#derive(password, Buffer.from(salt, 'base64url'), cost, holder)
    const expected = Buffer.from(hash, 'base64url')
    const isEqual = derived.length === expected.length && timingSafeEqual(derived, expected)
    return isEqual && stored !== undefined
  }

  async #derive(password: string, salt: Buffer, cost: Cost, holder: string): Promise<Buffer> {
    if (this.#pool.take(holder) !== undefined) {
      throw new Problem('unavailable', 'too many passwords are being checked', { headers: { 'retry-after': '5' } })
    }
    if (this.#running < AT_ONCE_MAX) this.#running++
    // It is passed the place of one that has ended.
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    try {
      return await new Promise((resolve, reject) => {
        const options = { ...cost, maxmem: 256 * cost.N * cost.r }
        // The same characters can be typed in different forms.
        const text = password.normalize('NFKC')
        scrypt(text, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)))
      })
    } finally {
      this.#pool.add(holder, -1)
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

function storedForm({ N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}
