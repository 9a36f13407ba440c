/**
 * Runs attack families against one service, several concurrently, in an order determined by the seed. Every attack has
 * its own generator from (seed, family, serial), so that a failing one can be repeated alone.
 */
import { Random } from '../support/random.ts'
import type { AttackContext, Family } from './family.ts'
import { handshakes } from './handshakes.ts'
import { httpHeads } from './http-heads.ts'
import { operatorRequests } from './operator-requests.ts'
import { streamFrames, streamNoise, tlsNoise } from './stream-frames.ts'
import { streamRequests } from './stream-requests.ts'
import { revocationRequests, tokenRequests } from './token-requests.ts'

const FAMILIES: readonly Family[] = [
  streamRequests,
  streamFrames,
  streamNoise,
  handshakes,
  httpHeads,
  tokenRequests,
  revocationRequests,
  operatorRequests,
]

const CONCURRENCY = 8
const FAILURES_MAX = 20
const SERIALS_A_FAMILY = 1_000_000

export interface AttackReport {
  readonly requests: Readonly<Record<string, number>>
  readonly failures: readonly string[]
}

/** Sends about `requestCount` requests, distributed over the families. */
export async function runAttacks(field: AttackContext, seed: number, requestCount: number): Promise<AttackReport> {
  const families = field.stream.ca === undefined ? FAMILIES : [...FAMILIES, tlsNoise]
  const requests: Record<string, number> = Object.fromEntries(families.map(({ name }) => [name, 0]))
  const serials = families.map(() => 0)
  const failures: string[] = []
  const order = new Random(seed)
  const worker = async (): Promise<void> => {
    for (;;) {
      const open = families.filter(({ name, share }) => (requests[name] as number) < requestCount * share)
      if (open.length === 0 || failures.length >= FAILURES_MAX) return
      const family = order.pick(open)
      const place = families.indexOf(family)
      const serial = place * SERIALS_A_FAMILY + (serials[place] as number)
      serials[place] = (serials[place] as number) + 1
      try {
        const count = await family.run({ field, random: new Random(seed + serial * 7_919), serial })
        requests[family.name] = (requests[family.name] as number) + count
      } catch (error) {
        failures.push(`${family.name} ${serial} of seed ${seed}: ${(error as Error).message}`)
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return { requests, failures }
}
