/** The oracle of the limits: sums over all movements, which are compared with what the store counts. */
import type { Movement } from './model.ts'
import type { Row } from './quiet.ts'
import type { World } from './world.ts'

interface Sum {
  used: bigint
  /** The part that no release let through. */
  unreleased: bigint
}

/** What differs from the limits that the movements must keep. */
export function limitFaults(rows: readonly Row[], { movements, circumstances: { limits } }: World): readonly string[] {
  const faults: string[] = []
  const sums = new Map<string, Sum>()
  const sumOf = ({ party, asset }: Movement): Sum => {
    const key = `${party.customerId}/${asset}`
    const sum = sums.get(key) ?? { used: 0n, unreleased: 0n }
    sums.set(key, sum)
    return sum
  }
  for (const row of rows) {
    const movement = movements.get(row.id) as Movement
    const isReleased = movement.opened.has('LIMIT')
    // A released movement is counted when its payment leaves, at the latest.
    const isUsed = isReleased ? row.used !== null : mustBeUsed(row, movement)
    if (isUsed !== (row.used !== null)) faults.push(`${row.id}: its use is ${row.used}, at ${row.status} ${row.step}`)
    if (row.used !== null && BigInt(row.used) !== movement.amount) faults.push(`${row.id}: ${row.used} are counted`)
    if (isReleased && row.status === 'COMPLETED' && row.used === null) faults.push(`${row.id}: it left uncounted`)
    if (!isUsed) continue
    const sum = sumOf(movement)
    sum.used += movement.amount
    if (isReleased) continue
    sum.unreleased += movement.amount
    if (movement.amount > limits.movement) faults.push(`${row.id}: it passed the limit of a movement`)
  }
  for (const [key, { unreleased }] of sums) {
    if (unreleased > limits.day) faults.push(`${key}: ${unreleased} of ${limits.day} have passed the limit of a day`)
  }
  for (const row of rows) {
    if (!(row.gates ?? []).some(({ code }) => code === 'LIMIT')) continue
    const movement = movements.get(row.id) as Movement
    const { used } = sumOf(movement)
    if (movement.amount <= limits.movement && used + movement.amount <= limits.day)
      faults.push(`${row.id}: it waits for a limit of which ${limits.day - used} are left`)
  }
  return faults
}

function mustBeUsed({ status, step, gates }: Row, { isRequestedAsIs }: Movement): boolean {
  if (status !== 'PROCESSING') return status === 'COMPLETED'
  if (step === 'convert') return isRequestedAsIs
  return !(gates ?? []).some(({ code }) => code === 'LIMIT')
}
