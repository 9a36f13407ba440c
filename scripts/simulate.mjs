/**
 * `npm run simulate [-- --seed N] [--minutes M] [--json]`: runs the streaming service under a virtual clock and
 * network, from seed N on (by default a fresh one) for M minutes of processor time (by default 1), and compares every
 * frame with an independent model. A failing run is shrunk and printed as a test, and the exit code is 1.
 */
import { parseArgs } from 'node:util'
import { ensureInstalled, fail } from './setup.mjs'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
})
const seed = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed)
const minutes = Number(values.minutes)
if (!Number.isSafeInteger(seed) || seed < 0) fail('--seed must be a whole number')
if (!(minutes >= 0 && minutes <= 1_440)) fail('--minutes must be a number from 0 to 1440')
await ensureInstalled()
const { register } = await import('tsx/esm/api')
register()
const { explain, runSeeds, SimulationFailure } = await import('../test/simulation/run.ts')

process.stderr.write(`seeds from ${seed} on\n`)
try {
  const totals = runSeeds({
    seed,
    minutes,
    onProgress: (runs, { frames, processorSeconds }) => {
      if (process.stderr.isTTY)
        process.stderr.write(`\r\u001b[K${runs} runs, ${frames} frames, ${Math.round(processorSeconds)} s`)
    },
  })
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  if (values.json) console.log(JSON.stringify({ seed, ...totals }, null, 2))
  else
    for (const [name, count] of Object.entries(totals))
      console.log(`${name.padEnd(18)} ${Math.round(count).toLocaleString('en')}`)
} catch (error) {
  if (!(error instanceof SimulationFailure)) throw error
  console.error(explain(error))
  process.exitCode = 1
}
