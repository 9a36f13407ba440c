/**
 * Operators' passwords: scrypt (RFC 7914) with a random salt, computed in the thread pool and not on the event loop.
 * Callers run two at a time from a fair queue, which bounds memory and leaves threads for the rest of the program.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { SHARED_POOLS } from '../../platform/base/shared-pool.ts'
import { type Caller, FairQueue } from './fair-queue.ts'

/** The scrypt parameters. */
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
  /** Compared with when there is no operator, so an unknown name takes as long as a known one. */
  readonly #unknown: string
  readonly #queue = new FairQueue(AT_ONCE_MAX, SHARED_POOLS.password_checks.size)

  /** @param cost for new passwords. Each stored one names its own */
  constructor(cost = COST) {
    this.#cost = cost
    this.#unknown = storedForm(cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))
  }

  /** Runs work from the queue, which hashes or verifies one password. */
  queued<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    return this.#queue.take(caller, work)
  }

  /** The text to store for a password. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    return storedForm(this.#cost, salt, await this.#derive(password, salt, this.#cost))
  }

  /** @param stored undefined: no password is right, which takes as long to find out */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const [, N, r, p, salt = '', hash = ''] = FORM.exec(stored ?? this.#unknown) ?? []
    const cost = { N: Number(N), r: Number(r), p: Number(p) }
    const derived = await this.#derive(password, Buffer.from(salt, 'base64url'), cost)
    const expected = Buffer.from(hash, 'base64url')
    const isEqual = derived.length === expected.length && timingSafeEqual(derived, expected)
    return isEqual && stored !== undefined
  }

  #derive(password: string, salt: Buffer, cost: Cost): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const options = { ...cost, maxmem: 256 * cost.N * cost.r }
      // The same characters can be typed in different forms.
      const text = password.normalize('NFKC')
      scrypt(text, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)))
    })
  }
}

function storedForm({ N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}
