/**
 * The targets of `npm run bench`, and its table: each target's median over interleaved rounds, with the machine's own
 * limit beside it. Ratios are taken within a round, because both sides had the same machine then. A line is noise when
 * some rounds meet the target and others do not, or when the machine's own limit misses it.
 */
import type { BenchResult } from './result.ts'
import { median, significant } from './result.ts'

interface Target {
  readonly what: string
  readonly benchmark: string
  /** The measurement's name in its benchmark. */
  readonly row: string
  /** The measurement by which the row is divided, where the target is a ratio. */
  readonly per?: string
  /** The machine's own limit: the same work without Tidegate, in the same round. */
  readonly limit?: string
  readonly unit: string
  /** Absent: reported only. */
  readonly atLeast?: number
  readonly atMost?: number
}

const fanout = (what: string, row: string, per: string, atLeast?: number): Target => ({
  what,
  benchmark: 'fanout',
  row: `${row}: tidegate`,
  per: `${row}: ${per}`,
  limit: `${row}: limit`,
  unit: `x ${per}`,
  ...(atLeast === undefined ? {} : { atLeast }),
})

const latency = (row: string, part: string, atMost?: number): Target => ({
  what: `${row} to 1,000 connections, ${part}`,
  benchmark: 'fanout',
  row: `${row}: tidegate, ${part}`,
  limit: `${row}: limit, ${part}`,
  unit: part === 'CPU' ? '% of a core' : 'ms',
  ...(atMost === undefined ? {} : { atMost }),
})

const list = (page: string): Target => ({
  what: `REST list, ${page} page, against its bare statement (PostgreSQL)`,
  benchmark: 'rest',
  row: `postgres: list, ${page} page`,
  per: `postgres: bare statement, ${page} page`,
  limit: `postgres: bare statement, ${page} page`,
  unit: 'x the statement',
  atMost: 2,
})

/** The limit: another ledger's transfers on the same PostgreSQL. */
const deposits = (engine: string, way: string, atLeast: number, limit?: string): Target => ({
  what: `deposits COMPLETED over HTTP, ${way} (${engine})`,
  benchmark: 'orchestration',
  row: `${engine}: at par, by memo, ${way}`,
  ...(limit === undefined ? {} : { limit }),
  unit: '/s',
  atLeast,
})

export const TARGETS: readonly Target[] = [
  fanout('fan-out to 1,000 connections, one message per tick', 'one message per tick', 'limit', 0.8),
  fanout("the same, against Node's sockets alone", 'one message per tick', 'node'),
  fanout('fan-out, bursts of 10', 'bursts of 10', 'limit', 0.8),
  fanout("the same, against Node's sockets alone", 'bursts of 10', 'node'),
  fanout('fan-out, bursts of 10, against a naive server', 'bursts of 10', 'naive', 8),
  fanout('each connection has its own 5 of 20 markets, bursts of 10', 'mixed, bursts of 10', 'limit', 0.65),
  latency('100k/s in bursts of 10', 'p99', 15),
  latency('100k/s in bursts of 10', 'p99.9', 30),
  latency('100k/s evenly', 'CPU'),
  {
    what: 'p99 of the others beside one client that never reads and ten slow ones',
    benchmark: 'fanout',
    row: 'with 11 slow readers: p99 of the others',
    per: 'without slow readers: p99 of the others',
    unit: 'x without them',
    atMost: 1.25,
  },
  {
    what: '1,000 lagging subscribers caught up for the first time, event-loop time',
    benchmark: 'fanout',
    row: '1000 lagging, first time: loop time in all',
    unit: 'ms',
  },
  {
    what: '1,000 lagging subscribers caught up, event-loop time',
    benchmark: 'fanout',
    row: '1000 lagging, optimised: loop time in all',
    unit: 'ms',
    atMost: 50,
  },
  {
    what: 'the same, longest tick',
    benchmark: 'fanout',
    row: '1000 lagging, optimised: longest tick',
    unit: 'ms',
    atMost: 5,
  },
  {
    what: 'idle connection with heartbeat, memory',
    benchmark: 'fanout',
    row: '2000 connections with heartbeat: memory of each',
    unit: 'KB',
    atMost: 7,
  },
  {
    what: 'level changes through book, view, journal and commit, 2,000 levels',
    benchmark: 'book',
    row: '2,000 levels: sequencer, commit, replica, depth 1000',
    limit: '2,000 levels: book',
    unit: '/s',
    atLeast: 1_000_000,
  },
  list('first'),
  list('deep'),
  {
    what: 'deep page against the first page (PostgreSQL)',
    benchmark: 'rest',
    row: 'postgres: list, deep page',
    per: 'postgres: list, first page',
    unit: 'x the first',
    atMost: 1.2,
  },
  {
    what: 'token grants (PostgreSQL)',
    benchmark: 'rest',
    row: 'postgres: tokens, 16 at once',
    unit: '/s',
    atLeast: 1_500,
  },
  deposits('PostgreSQL', 'one by one', 600, 'anchor: transfers among 10 accounts'),
  deposits('PostgreSQL', 'in batches of 50', 3_000, 'anchor: transfers among 10 accounts, 50 per call'),
  deposits('embedded', 'one by one', 250),
  deposits('embedded', 'in batches of 50', 800),
]

/** Targets that a benchmark of this length does not measure, with the command that does. */
export const ELSEWHERE: readonly string[] = [
  '1,000 joiners of a book with 46,000 levels in 3 s: npm run bench -- fanout',
  'the whole service from outside, and an idle one: npm run bench -- outside idle',
]

/** The benchmarks that the targets need. */
export const TARGET_BENCHMARKS = [...new Set(TARGETS.map(({ benchmark }) => benchmark))]

/** @param results one entry per row and benchmark, with one value per round */
export function targetTable(results: readonly (BenchResult & { readonly benchmark: string })[]): string[][] {
  const runsOf = (benchmark: string, name: string | undefined) =>
    results.find((result) => result.benchmark === benchmark && result.name === name)?.runs
  const rows = TARGETS.map((target) => {
    const runs = runsOf(target.benchmark, target.row)
    const per = target.per === undefined ? undefined : runsOf(target.benchmark, target.per)
    const limit = runsOf(target.benchmark, target.limit)
    const limitText = limit === undefined ? '' : significant(median(limit))
    if (runs === undefined || (target.per !== undefined && per === undefined))
      return [target.what, '', target.unit, '', limitText, wantedText(target), 'not measured on this machine']
    const values = per === undefined ? runs : runs.map((value, round) => value / (per[round] as number))
    const sorted = [...values].sort((left, right) => left - right)
    const range = `${significant(sorted[0] as number)} to ${significant(sorted.at(-1) as number)}`
    return [
      target.what,
      significant(median(values)),
      target.unit,
      range,
      limitText,
      wantedText(target),
      verdict(target, values, limit),
    ]
  })
  return [['what', 'median', 'unit', 'lowest to highest', "machine's limit", 'target', 'result'], ...rows]
}

function wantedText({ atLeast, atMost }: Target): string {
  if (atLeast !== undefined) return `at least ${significant(atLeast)}`
  return atMost === undefined ? 'none' : `at most ${significant(atMost)}`
}

function verdict({ per, atLeast, atMost }: Target, values: readonly number[], limit?: readonly number[]): string {
  if (atLeast === undefined && atMost === undefined) return ''
  const isMet = (value: number) => value >= (atLeast ?? value) && value <= (atMost ?? value)
  // A ratio has its limit in it.
  if (per === undefined && limit !== undefined && !isMet(median(limit))) return "noise: the machine's limit misses it"
  const met = values.filter(isMet).length
  if (met === values.length) return 'met'
  return met === 0 ? 'missed' : `noise: met in ${met} of ${values.length} rounds`
}
