/** The settings by which gates close for the random movements, in the test and in its worker processes. */
import type { GateSettings } from '../../../../src/money/controls/gates.ts'
import { OPEN_GATES } from '../../../support/gates.ts'

export const REVIEW_ABOVE = 6_000_000n

/** Per customer and asset. In the long run, both limits stop some movements and most pass. */
export function limitsOf(isLong: boolean) {
  return { day: isLong ? 300_000_000n : 25_000_000n, movement: 8_500_000n }
}

export function movementSettings(isLong: boolean) {
  const amounts = limitsOf(isLong)
  const limits = (['USDC', 'USDG'] as const).flatMap((asset) =>
    (['day', 'movement'] as const).map((window) => ({
      scope: 'customer' as const,
      asset,
      window,
      amount: amounts[window],
    })),
  )
  const payments = new Map([
    ['USDC', REVIEW_ABOVE],
    ['USDG', REVIEW_ABOVE],
  ])
  const settings: GateSettings = {
    ...OPEN_GATES,
    reviewAbove: { deposits: new Map(), payments },
    needsAccountApproval: true,
    destinations: { isRequired: true, isSandbox: false },
    screening: { validHours: 24 },
    limits,
  }
  return { settings, limits, payments }
}
