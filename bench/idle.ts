/**
 * The processor time of the service without work: `serve` with one market whose publisher never came, and its embedded
 * store. The first minutes are not counted, because the program is still being compiled.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { secondsOf } from './process-time.ts'
import type { BenchResult } from './result.ts'
import { withProgram } from './served-program.ts'

const MARKET = {
  symbol: 'BTCUSD',
  base_asset: 'BTC',
  quote_asset: 'USD',
  price_decimals: 2,
  amount_decimals: 8,
  depth: 1_000,
  sources: ['ingest'],
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const [beforeSeconds, seconds, rounds] = quick ? [20, 20, 1] : [200, 60, 3]
  const result: BenchResult = { name: 'an idle service with one market', unit: '% of a core', runs: [] }
  await withProgram({ 'ingest.port': '0', markets: JSON.stringify([MARKET]) }, async ({ pid }) => {
    await wait(beforeSeconds * 1_000)
    for (let round = 0; round < rounds; round++) {
      const [start, used] = [performance.now(), secondsOf(pid)]
      await wait(seconds * 1_000)
      result.runs.push(((secondsOf(pid) - used) * 100_000) / (performance.now() - start))
    }
  })
  return [result]
}
