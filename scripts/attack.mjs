/**
 * `npm run attack [-- NAME…] [--rounds N] [--json]`: runs attacks (all of them without a name) against services that it
 * starts itself on this machine, each N times (default 5) while another customer is measured, and prints one table, or
 * JSON. Exits with 1 if a condition did not hold.
 */
import { parseArgs } from 'node:util'
import { ensureBuilt, fail } from './setup.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, json: { type: 'boolean', default: false } },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) fail('--rounds must be a whole number from 1 to 100')
await ensureBuilt()
const { register } = await import('tsx/esm/api')
register()
const { ATTACKS } = await import('../test/hostile/attacks/attacks.ts')
const { runAttack } = await import('../test/hostile/attacks/runner.ts')
const { resultTable } = await import('../test/hostile/attacks/table.ts')

const unknown = positionals.find((name) => !ATTACKS.some((attack) => attack.name === name))
if (unknown !== undefined) fail(`no attack ${unknown}; there are: ${ATTACKS.map(({ name }) => name).join(', ')}`)
const wanted = positionals.length > 0 ? ATTACKS.filter(({ name }) => positionals.includes(name)) : ATTACKS

const results = []
for (const [index, attack] of wanted.entries()) {
  const place = `${index + 1} of ${wanted.length}`
  const onProgress = (name, round, all) => progress(`${place}: ${name}, run ${round} of ${all}`)
  const options = { scale: 'full', rounds, seed: Date.now() % 2 ** 31, isMeasured: true, onProgress }
  const result = await runAttack(attack, options)
  clearProgress()
  process.stderr.write(`${place}: ${result.name}: ${result.failures.length === 0 ? 'ok' : 'FAILED'}\n`)
  for (const failure of result.failures) process.stderr.write(`  ${failure}\n`)
  results.push(result)
}
console.log(values.json ? JSON.stringify({ rounds, results }, null, 2) : resultTable(results))
process.exit(results.every(({ failures }) => failures.length === 0) ? 0 : 1)

/** One rewritten line, only on a terminal. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}

function clearProgress() {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
}
