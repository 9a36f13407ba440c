/** One measurement in the fan-out benchmark: a server and the load generator, from start to end. */
import { ASK, BID } from '../src/streaming/market/event.ts'
import { textFrame, updateText } from '../src/streaming/sequencing/frame.ts'
import type { Answer } from './fanout-driver.ts'
import { benchMarket, stamp } from './fanout-feed.ts'
import { type Client, type Peer, startReader } from './fanout-processes.ts'
import type { ServerSetup } from './fanout-server.ts'
import { secondsOf } from './process-time.ts'

/** A proxy in front of a server. Its processor time counts as the server's. */
export interface Terminator {
  readonly port: number
  readonly peer: Peer
}

interface Load {
  /** Ended by the measurement. */
  readonly server: Peer
  /** Started once the server's port is known, ended by the measurement. Absent: the clients connect to the server. */
  readonly proxy?: (port: number) => Promise<Terminator>
  readonly setup: Pick<ServerSetup, 'moving'>
  /** One line per connection, in the format of native/reader.c. */
  readonly lines: readonly string[]
  /** Messages that each connection receives for its request: the reply and a SNAPSHOT per market. */
  readonly greeting: number
  /** `flat COUNT` or `paced COUNT MICROSECONDS`. */
  readonly command: string
  readonly milliseconds: number
  /** Slow connections at the front of the list, which must be lagging before the measurement begins. */
  readonly primed?: number
}

interface Reading {
  /**
   * Deliveries per second of the server's CPU time: one core's throughput without competing load, which is meaningful
   * on a busy machine too.
   */
  readonly perCpuSecond: number
  /** Milliseconds from the source event until the bytes are read. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly p999: number }
  /** The server's share of its core. */
  readonly server: number
  /** The fraction of time when the load generator had data to read. */
  readonly reader: number
  /** The fraction of ticks that found a full socket. */
  readonly waits: number
}

export async function measure(client: Client, warmUpMilliseconds: number, load: Load): Promise<Reading> {
  const { server, lines, command } = load
  const { port } = await server.answer()
  const proxy = await load.proxy?.(port as number)
  const usage = async () => addSeconds(await server.ask('usage'), proxy)
  const reader = await startReader(client, proxy?.port ?? (port as number), lines)
  try {
    await reader.ask(`subscribe 0 ${load.greeting}`)
    const greeted = (await reader.ask('total 100')).messages as number
    if (load.primed) await server.ask(`prime ${load.primed}`)
    await server.ask(command)
    await pause(warmUpMilliseconds)
    const before = await usage()
    const measured = await reader.ask(`measure ${load.milliseconds} ${command.startsWith('paced') ? 1 : 0}`)
    const after = await usage()
    const { ticks, waits } = await server.ask('stop')
    if (command.startsWith('flat')) {
      const { messages } = await reader.ask('total 300')
      checkAllArrived(load, (messages as number) - greeted, ticks as number)
    }
    return {
      perCpuSecond:
        (deliveriesPerTick(load) * difference(before, after, 'ticks')) / difference(before, after, 'cpuSeconds'),
      latency: { p50: measured.p50 as number, p99: measured.p99 as number, p999: measured.p999 as number },
      server: cpuShare(before, after),
      reader: (measured.busySeconds as number) / (measured.seconds as number),
      waits: (waits as number) / (ticks as number),
    }
  } finally {
    await endBoth(reader, server)
    await proxy?.peer.end()
  }
}

function addSeconds(usage: Answer, proxy: Terminator | undefined): Answer {
  if (proxy === undefined) return usage
  return { ...usage, cpuSeconds: (usage.cpuSeconds as number) + secondsOf(proxy.peer.pid) }
}

/** In a closed loop no connection lags, so every tick's messages must arrive at all their market's subscribers. */
function checkAllArrived(load: Load, messages: number, ticks: number): void {
  const expected = deliveriesPerTick(load) * ticks
  if (messages !== expected) throw new Error(`${messages} messages arrived, ${expected} were due`)
}

function deliveriesPerTick({ lines, setup, command }: Load): number {
  const count = Number(command.split(' ')[1])
  const markets = lines.flatMap((line) => (line.split('\t')[1] as string).slice(1).split(','))
  return count * markets.filter((index) => index !== '' && Number(index) < setup.moving).length
}

/** The load generator ends first, because it treats the end of a connection as a failure. */
export async function endBoth(reader: Peer, server: Peer): Promise<void> {
  await reader.end()
  await server.end()
}

export async function connectReader(client: Client, server: Peer, lines: readonly string[]): Promise<Peer> {
  const { port } = await server.answer()
  return startReader(client, port as number, lines)
}

/** A connection subscribed to these markets: the path names them for the references, the request for Tidegate. */
export function readerLine(indexes: readonly number[], mode = 0): string {
  const channels = indexes.map((index) => ({ type: 'market_data', params: { market: benchMarket(index).symbol } }))
  const request = channels.length === 0 ? '' : JSON.stringify({ type: 'subscribe', channels })
  return `${mode}\t/${indexes.join()}\t${request}`
}

/** The published UPDATEs' length in bytes, including the frame header. */
export function frameBytes(): number {
  const amount = stamp(0)
  const changes = [
    { side: BID, price: 9_699_990, amount },
    { side: ASK, price: 9_700_010, amount },
  ] as const
  return textFrame(updateText(benchMarket(0), Date.now(), changes)).length
}

export function cpuShare(before: Answer, after: Answer): number {
  return difference(before, after, 'cpuSeconds') / difference(before, after, 'seconds')
}

export function difference(before: Answer, after: Answer, name: string): number {
  return (after[name] as number) - (before[name] as number)
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
