/** The scenarios for the fan-out benchmark: each function runs one scenario once and adds its figures to the runs. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer } from './fanout-driver.ts'
import { connectReader, cpuShare, endBoth, frameBytes, measure, pause, readerLine } from './fanout-measure.ts'
import {
  type Client,
  type Peer,
  startLimit,
  startNaive,
  startNodeSockets,
  startReader,
  startTidegate,
  type Tools,
} from './fanout-processes.ts'
import type { ServerSetup } from './fanout-server.ts'
import type { BenchResult } from './result.ts'

export const CONNECTIONS = 1_000
const SLOW_CONNECTIONS = 11
const DEEP_LEVELS = 46_000

/** Durations. The quick ones only show that everything works, and their figures are rough. */
export interface Durations {
  readonly rounds: number
  readonly warmUpMilliseconds: number
  readonly flatMilliseconds: number
  readonly pacedMilliseconds: number
  readonly joiners: number
  readonly idle: number
}

export const BASE: ServerSetup = { markets: 1, moving: 1, levels: 200, heartbeatSeconds: 5, held: false }

export class Runs {
  readonly results = new Map<string, BenchResult>()

  add(name: string, unit: string, value: number, reference?: string): void {
    const known = this.results.get(name)
    if (known !== undefined) known.runs.push(value)
    else this.results.set(name, { name, unit, runs: [value], ...(reference === undefined ? {} : { reference }) })
  }
}

type ServerKind = 'tidegate' | 'node' | 'naive' | 'limit'

/** `others`: servers beside the limit and Tidegate. */
function kindsOf(tools: Tools, others: readonly ServerKind[] = ['naive']): ServerKind[] {
  return [...(tools.limit === undefined ? [] : (['limit'] as const)), ...others, 'tidegate']
}

function startServer(tools: Tools, kind: ServerKind, setup: ServerSetup): Peer {
  if (kind === 'tidegate') return startTidegate(setup)
  if (kind === 'naive') return startNaive(setup.markets)
  if (kind === 'node') return startNodeSockets([String(frameBytes())])
  return startLimit(tools.limit as string, [frameBytes(), setup.markets])
}

/**
 * At full speed: one message per tick, bursts of ten, and ten for each connection's own five of twenty markets. The
 * extended protocol's frames are longer, so nothing else is compared with it.
 */
export async function measureFlat(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  const mixed = Array.from({ length: CONNECTIONS }, (_, index) => [0, 3, 7, 12, 18].map((step) => (index + step) % 20))
  const single = Array.from({ length: CONNECTIONS }, () => [0])
  const scenarios = [
    { name: 'one message per tick', wanted: single, markets: 1, count: 1 },
    { name: 'bursts of 10', wanted: single, markets: 1, count: 10 },
    { name: 'mixed, bursts of 10', wanted: mixed, markets: 20, count: 2 },
    { name: 'extended protocol, one message per tick', wanted: single, markets: 1, count: 1, isExtended: true },
    { name: 'extended protocol, bursts of 10', wanted: single, markets: 1, count: 10, isExtended: true },
  ]
  for (const { name, wanted, markets, count, isExtended = false } of scenarios) {
    const setup = { ...BASE, markets, moving: markets, isExtended }
    // Node's sockets alone write one market's frames.
    const others = markets === 1 ? (['node', 'naive'] as const) : undefined
    for (const kind of isExtended ? (['tidegate'] as const) : kindsOf(tools, others)) {
      const reading = await measure(tools, durations.warmUpMilliseconds, {
        server: startServer(tools, kind, setup),
        setup,
        lines: wanted.map((indexes) => readerLine(indexes)),
        greeting: kind === 'tidegate' ? 1 + (wanted[0] as number[]).length : 0,
        command: `flat ${count}`,
        milliseconds: durations.flatMilliseconds,
      })
      const reference =
        kind === 'limit' ? undefined : `${name}: ${kind === 'tidegate' && tools.limit ? 'limit' : 'naive'}`
      const ratioTo = kind === 'naive' || isExtended ? undefined : reference
      runs.add(`${name}: ${kind}`, 'deliveries/CPU s', reading.perCpuSecond, ratioTo)
      runs.add(`${name}: ${kind}, load generator`, '% busy', reading.reader * 100)
      runs.add(`${name}: ${kind}, ticks that found a full socket`, '%', reading.waits * 100)
    }
  }
}

/** 100,000 deliveries a second, in bursts of ten messages and evenly. */
export async function measurePaced(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  const scenarios = [
    { name: '100k/s in bursts of 10', command: 'paced 10 100000' },
    { name: '100k/s evenly', command: 'paced 1 10000' },
  ]
  for (const { name, command } of scenarios) {
    for (const kind of kindsOf(tools)) {
      const reading = await measure(tools, durations.warmUpMilliseconds, {
        server: startServer(tools, kind, BASE),
        setup: BASE,
        lines: Array.from({ length: CONNECTIONS }, () => readerLine([0])),
        greeting: kind === 'tidegate' ? 2 : 0,
        command,
        milliseconds: durations.pacedMilliseconds,
      })
      runs.add(`${name}: ${kind}, p50`, 'ms', reading.latency.p50)
      runs.add(`${name}: ${kind}, p99`, 'ms', reading.latency.p99)
      runs.add(`${name}: ${kind}, p99.9`, 'ms', reading.latency.p999)
      runs.add(`${name}: ${kind}, CPU`, '% of a core', reading.server * 100)
    }
  }
}

/** 500 messages a second to each of 100 connections, evenly, with the write intervals `stream.write_interval_ms`. */
export async function measureGathered(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  const nameOf = (interval: number) => `500/s to each of 100, write interval ${interval} ms`
  for (const writeIntervalMilliseconds of [0, 5, 10, 50]) {
    const reading = await measure(tools, durations.warmUpMilliseconds, {
      server: startTidegate({ ...BASE, writeIntervalMilliseconds }),
      setup: BASE,
      lines: Array.from({ length: 100 }, () => readerLine([0])),
      greeting: 2,
      command: 'paced 1 2000',
      milliseconds: durations.pacedMilliseconds,
    })
    const name = nameOf(writeIntervalMilliseconds)
    const reference = writeIntervalMilliseconds === 0 ? undefined : `${nameOf(0)}: CPU per delivery`
    runs.add(`${name}: CPU per delivery`, 'µs', 1_000_000 / reading.perCpuSecond, reference)
    runs.add(`${name}: CPU`, '% of a core', reading.server * 100)
    runs.add(`${name}: p50 of the age when read`, 'ms', reading.latency.p50)
    runs.add(`${name}: p99 of the age when read`, 'ms', reading.latency.p99)
  }
}

/** One connection that never reads and ten slow ones among a thousand: their effect on the others. */
export async function measureSlowReaders(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  for (const isSlow of [false, true]) {
    const modeOf = (index: number) => (!isSlow || index >= SLOW_CONNECTIONS ? 0 : index === 0 ? 1 : 2)
    const reading = await measure(tools, durations.warmUpMilliseconds, {
      server: startTidegate(BASE),
      setup: BASE,
      lines: Array.from({ length: CONNECTIONS }, (_, index) => readerLine([0], modeOf(index))),
      greeting: 2,
      command: 'paced 10 100000',
      milliseconds: durations.pacedMilliseconds,
      primed: isSlow ? SLOW_CONNECTIONS : 0,
    })
    const name = isSlow ? 'with 11 slow readers' : 'without slow readers'
    runs.add(
      `${name}: p50 of the others`,
      'ms',
      reading.latency.p50,
      isSlow ? 'without slow readers: p50 of the others' : undefined,
    )
    runs.add(
      `${name}: p99 of the others`,
      'ms',
      reading.latency.p99,
      isSlow ? 'without slow readers: p99 of the others' : undefined,
    )
  }
}

/** Runs before the measured one, of 1,000 catch-ups each. The engine has optimised the code after about four. */
const LAGGING_WARM_UPS = 5

/** A thousand subscribers, each lagging at its own version, all released in one tick. */
export async function measureLagging(runs: Runs, tools: Tools): Promise<void> {
  const server = startTidegate({ ...BASE, levels: 2_000, held: true })
  const reader = await connectReader(
    tools,
    server,
    Array.from({ length: CONNECTIONS }, () => readerLine([0])),
  )
  try {
    await reader.ask('subscribe 0 2')
    // The first run shows the cost before the code is optimised, the last one the cost afterwards. Both are of interest.
    for (let run = 0; run <= LAGGING_WARM_UPS; run++) {
      const answer = await server.ask('lagging')
      if (answer.lagging !== CONNECTIONS) throw new Error(`${answer.lagging} connections were lagging`)
      if (run > 0 && run < LAGGING_WARM_UPS) continue
      const name = run === 0 ? '1000 lagging, first time' : '1000 lagging, optimised'
      runs.add(`${name}: loop time in all`, 'ms', answer.milliseconds as number)
      runs.add(`${name}: longest tick`, 'ms', answer.longestMilliseconds as number)
    }
  } finally {
    await endBoth(reader, server)
  }
}

/** New connections within a second to a 46,000-level book that changes a hundred times a second. */
export async function measureJoiners(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  const server = startTidegate({ ...BASE, levels: DEEP_LEVELS })
  const reader = await connectReader(
    tools,
    server,
    Array.from({ length: durations.joiners }, () => readerLine([0])),
  )
  const folder = join(tools.folder, 'snapshots')
  mkdirSync(folder)
  try {
    await server.ask('paced 1 10000')
    await reader.ask(`keep 20 ${folder}`)
    const before = (await server.ask('memory')).rssBytes as number
    const joined = reader.ask('subscribe 1000 2')
    let peak = 0
    let isJoined = false
    const watch = async () => {
      while (!isJoined) {
        peak = Math.max(peak, (await server.ask('peek')).rssBytes as number)
        await pause(50)
      }
    }
    const watching = watch()
    const seconds = (await joined).seconds as number
    isJoined = true
    await watching
    checkSnapshots(await reader.ask('groups'), folder, durations.joiners)
    runs.add(`${durations.joiners} joiners of ${DEEP_LEVELS.toLocaleString('en')} levels: all have it`, 's', seconds)
    runs.add(`${durations.joiners} joiners: growth of memory`, 'MB', (peak - before) / 1e6)
  } finally {
    await endBoth(reader, server)
    rmSync(folder, { recursive: true })
  }
}

/** Every new connection's SNAPSHOT equals, byte for byte, one that was parsed here and is complete and in order. */
function checkSnapshots(groups: Answer, folder: string, joiners: number): void {
  if (groups.covered !== joiners || groups.missing !== 0) {
    throw new Error(`snapshots differ from those that were kept: ${JSON.stringify(groups)}`)
  }
  for (const file of readdirSync(folder)) {
    const { payload } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
      payload: { type: string; bids: { price: string }[]; asks: { price: string }[] }
    }
    const bids = payload.bids.map(({ price }) => Number(price))
    const asks = payload.asks.map(({ price }) => Number(price))
    const isOrdered = bids.every((price, index) => index === 0 || price < (bids[index - 1] as number))
    const isWhole = payload.type === 'SNAPSHOT' && bids.length + asks.length === DEEP_LEVELS
    if (!isOrdered || !isWhole || (bids[0] as number) >= (asks[0] as number)) throw new Error(`${file} is not the book`)
  }
}

/** The same deliveries with additional idle connections and markets. */
export async function measureSlope(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  const readers = (indexes: readonly number[]) => Array.from({ length: CONNECTIONS }, () => readerLine(indexes))
  const fifty = Array.from({ length: 50 }, (_, index) => index)
  const beside = Array.from({ length: 3_000 }, () => readerLine([]))
  const scenarios = [
    { name: '1 market', markets: 1, lines: readers([0]), greeting: 2 },
    {
      name: '200 markets, 3000 connections without subscriptions beside',
      markets: 200,
      lines: [...readers([0]), ...beside],
      greeting: 0,
    },
    { name: '50 markets subscribed by all, one moves', markets: 50, lines: readers(fifty), greeting: 51 },
  ]
  for (const { name, markets, lines, greeting } of scenarios) {
    const reading = await measure(tools, durations.warmUpMilliseconds, {
      server: startTidegate({ ...BASE, markets }),
      setup: BASE,
      lines,
      greeting,
      command: 'flat 10',
      milliseconds: durations.flatMilliseconds,
    })
    const reference = name === '1 market' ? {} : { reference: 'slope: 1 market' }
    runs.add(`slope: ${name}`, 'deliveries/CPU s', reading.perCpuSecond, reference.reference)
  }
}

/** Connections that make the server grow to its working size, before the measured ones are added. */
const SETTLING_CONNECTIONS = 1_000

/**
 * By default, the heap's young generation grows and shrinks by tens of megabytes with the load. Per connection this is
 * more than the memory kept for it.
 */
const SMALL_YOUNG_GENERATION = ['--max-semi-space-size=1']

/**
 * The cost of a connection that only receives heartbeats.
 * @param suffix tells this setup from others in the results
 */
export async function measureIdle(
  runs: Runs,
  client: Client,
  durations: Durations,
  setup: ServerSetup = BASE,
  suffix = '',
): Promise<void> {
  const server = startTidegate(setup, SMALL_YOUNG_GENERATION)
  const port = (await server.answer()).port as number
  const request = JSON.stringify({ type: 'subscribe', channels: [{ type: 'heartbeat' }] })
  const connect = async (count: number) => {
    const lines = Array.from({ length: count }, () => `0\t/\t${request}`)
    const reader = await startReader(client, port, lines)
    await reader.ask('subscribe 1000 4')
    return reader
  }
  const settling = await connect(SETTLING_CONNECTIONS)
  const before = (await server.ask('memory')).rssBytes as number
  const reader = await connect(durations.idle)
  try {
    const after = (await server.ask('memory')).rssBytes as number
    const name = `${durations.idle} connections with heartbeat${suffix}`
    runs.add(`${name}: memory of each`, 'KB', (after - before) / durations.idle / 1000)
    const used = await server.ask('usage')
    await pause(durations.pacedMilliseconds)
    runs.add(`${name}: CPU`, '% of a core', cpuShare(used, await server.ask('usage')) * 100)
  } finally {
    await Promise.all([settling.end(), reader.end()])
    await server.end()
  }
}
