/** What a simulated worker converts by: the configuration of the world, with its scripted book. */
import type { ConvertSettings } from '../../../../src/money/orchestrations/convert.ts'
import type { PricingBook } from '../../../../src/money/orchestrations/pricing/context.ts'
import type { Config } from '../../../../src/service/config/settings.ts'
import { OPEN_GATES } from '../../../support/gates.ts'

/** How short the desk may be, in minor units. */
export const DESK_LIMITS: Readonly<Record<string, bigint>> = {
  USD: 50_000_000n,
  USDG: 3_000_000_000n,
  BTC: 500_000_000n,
}

export function convertSettings(config: Config, bookOf: (symbol: string) => PricingBook | undefined): ConvertSettings {
  return {
    feeBps: 10,
    gates: OPEN_GATES,
    pricing: {
      assets: config.assets,
      parAssets: config['conversion.par_assets'],
      markets: config.markets.map(({ definition }) => definition),
      settings: {
        pegBpsMax: 50,
        slippageBpsMax: 100,
        depthSeconds: 10,
        bookAgeSecondsMax: 5,
        notionalMax: new Map(),
        deskLimits: new Map(Object.entries(DESK_LIMITS)),
      },
      isSandbox: true,
      bookOf,
    },
  }
}
