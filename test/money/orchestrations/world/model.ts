/** What a simulated world consists of: payments that happened outside, and the sources that report them. */
import type { Random } from '../../../support/random.ts'

/** One payment, as it happened; what is reported of it may differ only where a test wants a conflict. */
export interface Payment {
  readonly asset: string
  /** Decimal text. */
  readonly amount: string
  readonly place: Readonly<Record<string, unknown>>
  /** What names it: the transaction and the place in it, or the reference of the bank. */
  readonly key: string
  /** Whether some source was answered that it is COMPLETED. */
  isCredited: boolean
}

export const SOURCES = ['custody', 'node', 'bank'] as const

const HEX = '0123456789abcdef'

export function hex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => HEX[random.integer(16)]).join('')
}

/** Up to `unitsMax` with at most `decimals` decimals; often round, sometimes the smallest amount that there is. */
export function amount(random: Random, unitsMax: number, decimals: number): string {
  if (random.chance(0.05)) return decimals === 0 ? '1' : `0.${'0'.repeat(decimals - 1)}1`
  if (random.chance(0.5)) return String(1 + random.integer(unitsMax))
  const fraction = String(1 + random.integer(10 ** decimals - 1)).padStart(decimals, '0')
  return `${random.integer(unitsMax)}.${fraction}`.replace(/0+$/, '')
}

/** A memo as it comes through three banks. */
export function mangled(random: Random, memo: string): string {
  const spaced = random.chance(0.5) ? memo.replace(/(.{3})/g, '$1 ') : memo.toLowerCase()
  return `${random.pick(['', '/INV 77/', 'ref: '])} ${spaced} ${random.pick(['', 'thx', '0001'])}`
}
