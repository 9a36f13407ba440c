/**
 * `npm run bench [-- NAME…] [--quick] [--json FILE]`: runs bench/NAME.ts (all of them without a name), prints one
 * table, and with `--json` writes the runs together with their machine and commit.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, fail, ROOT } from './setup.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' } },
})
await ensureBuilt()
const { register } = await import('tsx/esm/api')
register()

const available = await benchmarks()
const names = positionals.length > 0 ? positionals : [...available.keys()]
const unknown = names.find((name) => !available.has(name))
if (unknown !== undefined) fail(`unknown benchmark ${unknown}; choose from ${[...available.keys()].join(', ')}`)

const results = []
for (const name of names) {
  process.stderr.write(`running ${name}\n`)
  for (const result of await available.get(name)({ quick: values.quick })) results.push({ benchmark: name, ...result })
}
printTable(results)
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ ...machine(), quick: values.quick, results }, null, 2)}\n`)
}
process.exit(0)

/** Every file in bench/ that exports `run`. The others are parts of benchmarks. */
async function benchmarks() {
  const found = new Map()
  for (const file of readdirSync(join(ROOT, 'bench')).sort()) {
    if (!file.endsWith('.ts')) continue
    const loaded = await import(`../bench/${file}`)
    if (typeof loaded.run === 'function') found.set(file.slice(0, -3), loaded.run)
  }
  return found
}

function printTable(rows) {
  const cells = rows.map((row) => {
    const sorted = [...row.runs].sort((left, right) => left - right)
    const median = sorted[Math.floor(sorted.length / 2)]
    const spread = sorted.length > 1 ? `${text(sorted[0])} .. ${text(sorted.at(-1))}` : ''
    return [row.benchmark, row.name, text(median), row.unit, spread, row.reference ?? '']
  })
  const table = [['benchmark', 'what', 'median', 'unit', 'lowest .. highest', 'reference'], ...cells]
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)))
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
}

function text(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}

function machine() {
  const [cpu] = cpus()
  return {
    at: new Date().toISOString(),
    commit: commit(),
    node: process.version,
    platform: `${process.platform} ${release()} ${process.arch}`,
    cpu: `${cpus().length} x ${cpu?.model.trim() ?? 'unknown'}`,
    memoryBytes: totalmem(),
  }
}

function commit() {
  try {
    const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
    const changed = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' }).trim() !== ''
    return changed ? `${head} with local changes` : head
  } catch (error) {
    return `unknown (${error.message})`
  }
}
