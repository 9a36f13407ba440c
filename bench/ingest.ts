/**
 * Feeding your own book: processor time per message in the process that receives a publisher's messages over a
 * WebSocket, from the socket to the replica, at a fixed rate and at full speed. In the same rounds, the same events
 * straight from the simulator in that process. The publisher is its own process, on another core where `taskset`
 * exists. The report shows that it is not the limit: at full speed, by its write rate while the kernel takes the data,
 * and at a fixed rate, by the share of its time spent writing. Last, the cost of single orders without messages.
 */
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { LevelAmounts } from '../src/streaming/market/level-amounts.ts'
import { Orders } from '../src/streaming/market/orders.ts'
import { Peer } from './fanout-processes.ts'
import { INGEST_MARKET, type OrderScript, orderScript } from './ingest-messages.ts'
import { type BenchResult, resultTable } from './result.ts'

const RECEIVER_CORE = 0
const PUBLISHER_CORE = 1

/** Messages per second at a fixed rate. */
const LEVEL_RATE = 10_000
const ORDER_RATE = 50_000

interface Size {
  readonly rounds: number
  /** Seconds at a fixed rate. */
  readonly seconds: number
  /** Messages with levels, and order changes, at full speed. */
  readonly levels: number
  readonly changes: number
}

interface Load {
  readonly name: string
  /** `simulator` has no publisher. */
  readonly way: 'push' | 'pull' | 'simulator'
  readonly lines: number
  /** Order changes per message; 0 = levels. */
  readonly each: number
  readonly count: number
  /** Messages per second; 0 = full speed. */
  readonly rate: number
  readonly reference?: string
}

interface Reading {
  readonly cpuMicroseconds: number
  readonly perSecond: number
  readonly core: number
  readonly messagesPerCommit: number
  /**
   * Messages per second that the publisher wrote, without its waits for the kernel. This is an upper bound, because
   * writes continue during those waits.
   */
  readonly written: number
  readonly writing: number
}

export async function run({ quick }: { readonly quick: boolean }): Promise<BenchResult[]> {
  const size = quick
    ? { rounds: 2, seconds: 0.3, levels: 10_000, changes: 20_000 }
    : { rounds: 4, seconds: 0.5, levels: 30_000, changes: 40_000 }
  const loads = loadsOf(size)
  const script = orderScript(size.changes)
  const results = loads.map((load) => ({ load, rows: rowsOf(load) }))
  const orders: BenchResult = {
    name: `orders alone, ${script.resting.length} resting`,
    unit: 'changes/CPU s',
    runs: [],
  }
  const receiver = startPeer('receiver', RECEIVER_CORE, 'ingest-receiver.ts', '')
  const setup = JSON.stringify({ levels: size.levels, changes: size.changes })
  const publisher = startPeer('publisher', PUBLISHER_CORE, 'ingest-publisher.ts', setup)
  const ports = { push: portOf(await receiver.answer()), pull: portOf(await publisher.answer()) }
  // The first round warms up the compiler.
  for (let round = 0; round <= size.rounds; round++) {
    for (const { load, rows } of results) {
      const reading = await measure(load, receiver, publisher, ports)
      if (round > 0) for (const { result, value } of rows) result.runs.push(value(reading))
    }
    const changesPerSecond = applyOrders(script)
    if (round > 0) orders.runs.push(changesPerSecond)
  }
  await publisher.end()
  await receiver.end()
  return [...results.flatMap(({ rows }) => rows.map(({ result }) => result)), orders]
}

function loadsOf({ seconds, levels, changes }: Size): Load[] {
  const paced = Math.min(levels, Math.round(LEVEL_RATE * seconds))
  const atRate = (what: string) => `${what}, ${LEVEL_RATE.toLocaleString('en')}/s`
  const fast = (what: string) => `${what}, as fast as it goes`
  const both = (what: string, way: Load['way'], lines: number): Load[] => [
    { name: atRate(what), way, lines, each: 0, count: paced, rate: LEVEL_RATE, reference: atRate('simulator') },
    { name: fast(what), way, lines, each: 0, count: levels, rate: 0, reference: fast('simulator') },
  ]
  const orders = [1, 5, 20].flatMap((each): Load[] => {
    const what = each === 1 ? '1 order change a message' : `${each} order changes a message`
    const rate = ORDER_RATE / each
    const common = { way: 'push', lines: 1, each } as const
    const name = `${what}, ${rate.toLocaleString('en')}/s`
    return [
      { ...common, name, count: Math.min(changes / each, Math.round(rate * seconds)), rate },
      { ...common, name: fast(what), count: changes / each, rate: 0 },
    ]
  })
  const simulator = both('simulator', 'simulator', 0).map(({ reference: _, ...load }) => load)
  return [
    ...simulator,
    ...both('push, 1 line', 'push', 1),
    ...both('push, 2 lines', 'push', 2),
    ...both('pull', 'pull', 1),
    ...orders,
  ]
}

interface Row {
  readonly result: BenchResult
  readonly value: (reading: Reading) => number
}

function rowsOf({ name, way, rate, reference }: Load): Row[] {
  const row = (what: string, unit: string, value: Row['value'], compared?: string): Row => ({
    result: {
      name: what === '' ? name : `${name}: ${what}`,
      unit,
      runs: [],
      ...(compared === undefined ? {} : { reference: compared }),
    },
    value,
  })
  const common = [
    row('', 'CPU us/message', ({ cpuMicroseconds }) => cpuMicroseconds, reference),
    row('commit', 'messages', ({ messagesPerCommit }) => messagesPerCommit),
  ]
  if (way === 'simulator') return common
  return [
    ...common,
    row('rate', 'messages/s', ({ perSecond }) => perSecond),
    row('receiver', '% of a core', ({ core }) => core * 100),
    rate === 0
      ? row('publisher writes', 'messages/s', ({ written }) => written)
      : row('publisher writes', '% of its time', ({ writing }) => writing * 100),
  ]
}

async function measure(
  { way, lines, each, count, rate }: Load,
  receiver: Peer,
  publisher: Peer,
  ports: { readonly push: number; readonly pull: number },
): Promise<Reading> {
  if (way === 'simulator') return readingOf(await receiver.ask(`simulate ${rate} ${count}`), {})
  await publisher.ask(`prepare ${count} ${each}`)
  if (way === 'push') await publisher.ask(`push ${ports.push} ${lines}`)
  else await receiver.ask(`pull ${ports.pull}`)
  await receiver.ask(`expect ${count}`)
  const sent = await publisher.ask(`send ${rate}`)
  const received = await receiver.ask('finish')
  await publisher.ask('close')
  await receiver.ask('idle')
  return readingOf(received, sent)
}

type Answer = Awaited<ReturnType<Peer['answer']>>

function readingOf(received: Answer, sent: Answer): Reading {
  const { cpuMicroseconds = 0, seconds = 0, messages = 0, commits = 0 } = received
  const writingSeconds = (sent.seconds ?? 0) * (1 - (sent.waited ?? 0))
  return {
    cpuMicroseconds: cpuMicroseconds / messages,
    perSecond: messages / seconds,
    core: cpuMicroseconds / 1e6 / seconds,
    messagesPerCommit: messages / commits,
    written: messages / writingSeconds,
    writing: sent.writing ?? 0,
  }
}

/** Order changes per second of processor time, one in each list. */
function applyOrders({ resting, changes }: OrderScript): number {
  const orders = new Orders(new LevelAmounts(INGEST_MARKET), resting.length * 2 + changes.length)
  orders.replace(resting)
  const lists = changes.map((change) => [change])
  const before = process.cpuUsage()
  for (const list of lists)
    if (!Array.isArray(orders.apply(list))) throw new Error('a change of an order is impossible')
  const { user, system } = process.cpuUsage(before)
  return (changes.length * 1e6) / (user + system)
}

function portOf({ port }: Answer): number {
  return port as number
}

function startPeer(name: string, core: number, file: string, argument: string): Peer {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return new Peer(name, core, process.execPath, ['--import', 'tsx', path, argument])
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (cpus().length < 2 || spawnSync('taskset', ['-V']).status !== 0) console.error('the processes are not pinned')
  console.log(resultTable(await run({ quick: process.argv.includes('--quick') })))
}
