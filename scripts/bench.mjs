/**
 * `npm run bench [-- --minutes N] [--json FILE]`: the targets (bench/targets.ts) in one table, from the short form of the
 * benchmarks that they need, in rounds for at most 20 minutes. `npm run bench -- NAME… [--quick] [--tls] [--json FILE]`
 * runs bench/NAME.ts and prints every row. `--json` writes the runs together with their machine and commit.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, fail, ROOT } from './setup.mjs'

/** They measure TLS instead with `--tls`. */
const TLS_BENCHMARKS = ['fanout', 'many-connections']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    tls: { type: 'boolean', default: false },
    json: { type: 'string' },
    minutes: { type: 'string', default: '20' },
  },
})
await ensureBuilt()
const { register } = await import('tsx/esm/api')
register()

const available = await benchmarks()
const unknown = positionals.find((name) => !available.has(name))
if (unknown !== undefined) fail(`unknown benchmark ${unknown}; choose from ${[...available.keys()].join(', ')}`)
const minutes = Number(values.minutes)
if (!(minutes > 0)) fail('--minutes must be a number above 0')

if (values.tls && !TLS_BENCHMARKS.includes(positionals.join())) fail(`--tls is for one of ${TLS_BENCHMARKS.join(', ')}`)

const { TARGET_BENCHMARKS, ELSEWHERE, targetTable } = await import('../bench/targets.ts')
const { median } = await import('../bench/result.ts')
const results = positionals.length > 0 ? await runNamed() : await runRounds()
printTable(positionals.length > 0 ? everyRow(results) : targetTable(results))
if (positionals.length === 0) for (const line of ELSEWHERE) console.log(`not in this table: ${line}`)
if (values.json !== undefined) {
  const isQuick = values.quick || positionals.length === 0
  writeFileSync(values.json, `${JSON.stringify({ ...machine(), quick: isQuick, results }, null, 2)}\n`)
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

async function runNamed() {
  const all = []
  for (const name of positionals) {
    process.stderr.write(`running ${name}\n`)
    for (const result of await available.get(name)({ quick: values.quick, tls: values.tls }))
      all.push({ benchmark: name, ...result })
  }
  return all
}

/**
 * The short form of all benchmarks with targets, one after the other, again and again while another round has time. A
 * round's value is its median.
 */
async function runRounds() {
  const rows = new Map()
  const begin = performance.now()
  let longest = 0
  for (let round = 1; round === 1 || performance.now() - begin + longest < minutes * 60_000; round++) {
    const began = performance.now()
    for (const benchmark of TARGET_BENCHMARKS) {
      process.stderr.write(`round ${round}, ${Math.round((performance.now() - begin) / 1_000)} s: ${benchmark}\n`)
      for (const { runs, ...about } of await available.get(benchmark)({ quick: true })) {
        const key = `${benchmark} ${about.name}`
        if (!rows.has(key)) rows.set(key, { benchmark, ...about, runs: [] })
        rows.get(key).runs.push(median(runs))
      }
    }
    longest = Math.max(longest, performance.now() - began)
  }
  return [...rows.values()]
}

function everyRow(rows) {
  const cells = rows.map((row) => {
    const sorted = [...row.runs].sort((left, right) => left - right)
    const middle = sorted[Math.floor(sorted.length / 2)]
    const spread = sorted.length > 1 ? `${text(sorted[0])} .. ${text(sorted.at(-1))}` : ''
    return [row.benchmark, row.name, text(middle), row.unit, spread, row.reference ?? '']
  })
  return [['benchmark', 'what', 'median', 'unit', 'lowest .. highest', 'reference'], ...cells]
}

function printTable(table) {
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
