/**
 * A worker's claims, one after the other. While another client keeps an old transaction open, PostgreSQL cannot remove the rows
 * of finished work, and a look at everything that is due reads all of them. So a claim begins a little before the
 * earliest work of the last one; what is earlier, because its claim has ended or its clock was another one, is found
 * when everything is looked at, every ten seconds.
 */
import type { Clock } from '../base/clock.ts'
import type { Db } from '../store/db.ts'
import { type Claim, type ClaimRequest, claimWork } from './queue.ts'

/** Between two looks at everything that is due. */
const FULL_LOOK_MILLISECONDS = 10_000

export class WorkSearch {
  readonly #clock: Clock
  #dueSince: string | undefined
  #fullLookMilliseconds = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async claim(db: Db, request: Omit<ClaimRequest, 'dueSince'>): Promise<readonly Claim[]> {
    const now = this.#clock.monotonicMilliseconds()
    const isFull = now - this.#fullLookMilliseconds >= FULL_LOOK_MILLISECONDS
    // Before the look: one that fails, because it takes too long, is not repeated at once.
    if (isFull) this.#fullLookMilliseconds = now
    const dueSince = isFull ? undefined : this.#dueSince
    const claims = await claimWork(db, dueSince === undefined ? request : { ...request, dueSince })
    const [first, ...others] = claims.map(({ dueAt }) => dueAt)
    const isEarlier = (left: string, right: string) => Date.parse(left) < Date.parse(right)
    if (first !== undefined) this.#dueSince = others.reduce((least, at) => (isEarlier(at, least) ? at : least), first)
    return claims
  }
}
