/**
 * Passwords of operators: scrypt (RFC 7914) with a random salt, computed in the thread pool and not on the event loop. At most
 * two are computed at a time, which bounds memory and leaves threads for the rest of the program; the number of callers that
 * wait is bounded.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
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
/** More wait longer than a person does. */
const WAITING_MAX = 20

/** Names the form `scrypt$N$r$p$salt$hash`, the last two in base64url. */
const FORM = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]+)$/

export class Passwords {
  readonly #cost: Cost
  /** Compared with when there is no operator, so that an unknown name takes as long as a known one. */
  readonly #unknown: string
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** @param cost of new passwords; each stored one names its own */
  constructor(cost = COST) {
    this.#cost = cost
    this.#unknown = storedForm(cost, Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))
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

  async #derive(password: string, salt: Buffer, cost: Cost): Promise<Buffer> {
    await this.#enter()
    try {
      return await new Promise((resolve, reject) => {
        const options = { ...cost, maxmem: 256 * cost.N * cost.r }
        // The same characters can be typed in different forms.
        const text = password.normalize('NFKC')
        scrypt(text, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)))
      })
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  async #enter(): Promise<void> {
    if (this.#running >= AT_ONCE_MAX) {
      if (this.#waiting.length >= WAITING_MAX) {
        throw new Problem('unavailable', 'too many passwords are being checked', { headers: { 'retry-after': '5' } })
      }
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    }
    this.#running++
  }
}

function storedForm({ N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}
