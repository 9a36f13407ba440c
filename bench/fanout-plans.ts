/**
 * What plans cost in fan-out: the same deliveries to a thousand customers without a plan, with 20 plans, and with 20
 * plans that serve five depths. The three servers run at the same time, and each in turn is measured for a short while,
 * so that the machine's load and speed affect all alike.
 */
import { difference, endBoth, pause, readerLine } from './fanout-measure.ts'
import { type Client, type Peer, prepareTools, startReader, startTidegate } from './fanout-processes.ts'
import { BASE, CONNECTIONS, Runs } from './fanout-scenarios.ts'
import type { PlanKind } from './fanout-server.ts'
import { type BenchResult, median } from './result.ts'

const KINDS: Readonly<Record<PlanKind, string>> = {
  none: 'without plans',
  wide: '20 plans',
  deep: '20 plans with 5 depths',
}
/** Messages per event-loop tick. */
const COUNTS = [1, 10]
const ROUNDS = 3
const SLICES = 12
const SLICE_MILLISECONDS = 500
/** After a slice, until its last message has arrived. */
const QUIET_MILLISECONDS = 60

interface Stand {
  readonly kind: PlanKind
  readonly server: Peer
  readonly reader: Peer
}

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

/** One start of all servers. Adds the median of each one's slices. */
async function measureRound(runs: Runs, client: Client, slices: number): Promise<void> {
  const stands: Stand[] = []
  try {
    for (const kind of Object.keys(KINDS) as PlanKind[]) stands.push(await start(kind, client))
    for (const count of COUNTS) {
      const measured = new Map(stands.map((stand) => [stand, [] as number[]]))
      // The first slice is a warm-up.
      for (let slice = 0; slice <= slices; slice++) {
        for (const stand of slice % 2 === 0 ? stands : stands.toReversed()) {
          const microseconds = await measureSlice(stand, count)
          if (slice > 0) measured.get(stand)?.push(microseconds)
        }
      }
      for (const [{ kind }, values] of measured) {
        const reference = kind === 'none' ? undefined : nameOf(count, 'none')
        runs.add(nameOf(count, kind), 'µs of CPU per delivery', median(values), reference)
      }
    }
  } finally {
    for (const { reader, server } of stands) await endBoth(reader, server)
  }
}

function nameOf(count: number, kind: PlanKind): string {
  return `${count === 1 ? 'one message per tick' : `bursts of ${count}`}: ${KINDS[kind]}`
}

async function start(kind: PlanKind, client: Client): Promise<Stand> {
  const server = startTidegate({ ...BASE, plans: kind })
  const { port } = await server.answer()
  const lines = Array.from({ length: CONNECTIONS }, () => readerLine([0]))
  const reader = await startReader(client, port as number, lines)
  await reader.ask('subscribe 0 2')
  return { kind, server, reader }
}

/** The server's processor time for each message that arrived. */
async function measureSlice({ server, reader }: Stand, count: number): Promise<number> {
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
