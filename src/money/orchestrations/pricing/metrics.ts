/** Metrics for the desk and the pegs. */
import { Gauge, type MetricsRegistry } from '../../../platform/base/metrics.ts'
import type { Db } from '../../../platform/store/db.ts'
import { scrapeReader } from '../../../platform/store/store-gauge.ts'
import type { PricingContext } from './context.ts'
import { readDeskPositions } from './desk.ts'
import { pegStates } from './pegs.ts'

export function createPricingMetrics(registry: MetricsRegistry, db: Db, context: () => PricingContext): void {
  const registers = [registry]
  const desk = 'tidegate_desk_position'
  const readDesk = scrapeReader(registry, db, desk)
  new Gauge({
    name: 'tidegate_desk_limit',
    help: 'How far below zero the desk’s position may be, by asset with a limit',
    labelNames: ['asset'],
    registers,
    collect() {
      this.reset()
      const { assets, settings } = context()
      for (const { symbol, decimals } of assets) {
        const units = settings.deskLimits.get(symbol)
        if (units !== undefined) this.set({ asset: symbol }, Number(units) / 10 ** decimals)
      }
    },
  })
  new Gauge({
    name: desk,
    help: 'Amounts received minus paid by the desk, by asset. Absent while the store is unavailable',
    labelNames: ['asset'],
    registers,
    async collect() {
      const positions = await readDesk(readDeskPositions)
      this.reset()
      for (const { asset, decimals, position } of positions) {
        this.set({ asset }, Number(position) / 10 ** decimals)
      }
    },
  })
  new Gauge({
    name: 'tidegate_peg_holds',
    help: '1 while a par pair’s market is inside the peg, 0 while its conversions wait',
    labelNames: ['market'],
    registers,
    collect() {
      this.reset()
      for (const { market, holds } of pegStates(context())) this.set({ market }, holds ? 1 : 0)
    },
  })
}
