/**
 * What plans cost in fan-out: the same deliveries to a thousand customers without a plan, with 20 plans, and with 20
 * plans that serve five depths. One server has them in turn, on the same connections, because two starts differ by more
 * than plans cost. The depths come last: a view is kept for a minute after its last subscriber.
 */
import { difference, endBoth, pause, readerLine } from './fanout-measure.ts'
import { type Client, type Peer, prepareTools, startReader, startTidegate } from './fanout-processes.ts'
import { BASE, CONNECTIONS, Runs } from './fanout-scenarios.ts'
import { PLAN_KINDS, type PlanKind } from './fanout-server.ts'
import { type BenchResult, median } from './result.ts'

const NAMES: Readonly<Record<PlanKind, string>> = {
  none: 'without plans',
  wide: '20 plans',
  deep: '20 plans with 5 depths',
}
/** Messages per event-loop tick. */
const COUNTS = [1, 10]
const ROUNDS = 4
/** Of each kind, of which the last one has fewer: it needs no pairs. */
const SLICES = 20
const DEEP_SLICES = 8
const SLICE_MILLISECONDS = 250
/** After a slice, until its last message has arrived. */
const QUIET_MILLISECONDS = 60

export async function run({ quick }: { quick: boolean }): Promise<BenchResult[]> {
  const tools = prepareTools()
  const runs = new Runs()
  try {
    for (let round = 0; round < (quick ? 1 : ROUNDS); round++) await measureRound(runs, tools, quick ? 3 : SLICES)
  } finally {
    tools.remove()
  }
  return [...runs.results.values()]
}

/** One start of the server. Adds the median of each kind's slices. */
async function measureRound(runs: Runs, client: Client, slices: number): Promise<void> {
  const server = startTidegate(BASE)
  const { port } = await server.answer()
  const lines = Array.from({ length: CONNECTIONS }, () => readerLine([0]))
  const reader = await startReader(client, port as number, lines)
  try {
    await reader.ask('subscribe 0 2')
    const series = { server, reader }
    for (const count of COUNTS) await measureKinds(runs, { ...series, kinds: ['none', 'wide'], count, slices })
    for (const count of COUNTS) {
      await measureKinds(runs, { ...series, kinds: ['deep'], count, slices: Math.min(slices, DEEP_SLICES) })
    }
  } finally {
    await endBoth(reader, server)
  }
}

interface Series {
  readonly server: Peer
  readonly reader: Peer
  readonly kinds: readonly PlanKind[]
  readonly count: number
  readonly slices: number
}

async function measureKinds(runs: Runs, series: Series): Promise<void> {
  const { server, kinds, count, slices } = series
  const measured = new Map(kinds.map((kind) => [kind, [] as number[]]))
  // The first slice is a warm-up.
  for (let slice = 0; slice <= slices; slice++) {
    for (const kind of slice % 2 === 0 ? kinds : kinds.toReversed()) {
      await server.ask(`plans ${PLAN_KINDS.indexOf(kind)}`)
      const microseconds = await measureSlice(series)
      if (slice > 0) measured.get(kind)?.push(microseconds)
    }
  }
  const { none = [], wide = [] } = Object.fromEntries(measured)
  for (const [pair, one] of none.entries()) {
    runs.add(`${loadOf(count)}: 20 plans to none, each pair`, 'times', (wide[pair] as number) / one)
  }
  for (const [kind, values] of measured) {
    const reference = kind === 'none' ? undefined : nameOf(count, 'none')
    runs.add(nameOf(count, kind), 'µs of CPU per delivery', median(values), reference)
  }
}

function nameOf(count: number, kind: PlanKind): string {
  return `${loadOf(count)}: ${NAMES[kind]}`
}

function loadOf(count: number): string {
  return count === 1 ? 'one message per tick' : `bursts of ${count}`
}

/** The server's processor time for each message that arrived. */
async function measureSlice({ server, reader, count }: Series): Promise<number> {
  const total = async () => (await reader.ask(`total ${QUIET_MILLISECONDS}`)).messages as number
  const earlier = await total()
  const before = await server.ask('usage')
  await server.ask(`flat ${count}`)
  await pause(SLICE_MILLISECONDS)
  await server.ask('stop')
  const messages = await total()
  const after = await server.ask('usage')
  return (difference(before, after, 'cpuSeconds') * 1_000_000) / (messages - earlier)
}
