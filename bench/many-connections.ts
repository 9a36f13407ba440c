/**
 * 50,000 connections to four gateway processes of the built program, each connection with a token that no process has
 * verified before. All subscribe to heartbeats. 10,000 also subscribe to a market that an engine publishes. Measured are
 * joining, memory per connection, losses and delays. Service, load generators and engine share the machine's cores, so
 * the service alone would have lower delays and accept more connections per second. With `--tls` it terminates TLS. Needs
 * 20,000 open files per process.
 */
import { canSharePorts } from '../src/platform/http/shared-port.ts'
import type { TlsFiles } from '../src/platform/http/tls.ts'
import { pause } from './fanout-measure.ts'
import { prepareTools } from './fanout-processes.ts'
import { createCertificate, LIBRARIES } from './fanout-tls.ts'
import { LoadGenerators } from './load-generators.ts'
import { type Add, measureActive } from './many-connections-active.ts'
import { MARKET_FLAGS } from './publishing-engine.ts'
import { type BenchResult, significant } from './result.ts'
import { newCustomerToken, nextToken, type Program, withProgram } from './served-program.ts'
import { ServiceProcesses } from './service-processes.ts'

const GATEWAYS = 4
/** The last one has the active connections. */
const GENERATORS = 5
/** 127.0.0.1 is the service's. */
const FIRST_ADDRESS = 2
/** A client's connections: half of the default limit, `stream.connections_per_client_max`. */
const CONNECTIONS_PER_CLIENT = 1_000
const TOKENS_AT_ONCE = 16
const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'
const HEARTBEAT_SECONDS = 5
const SETTLE_MILLISECONDS = 3_000

interface Size {
  /** A fifth becomes active. */
  readonly connections: number
  /** Opened before, so that the processes reach their working size. */
  readonly settling: number
  /** The time over which requests are spread. */
  readonly requestsMilliseconds: number
  readonly idleMilliseconds: number
  readonly activeMilliseconds: number
}

const FULL: Size = {
  connections: 50_000,
  settling: 1_000,
  requestsMilliseconds: 20_000,
  idleMilliseconds: 30_000,
  activeMilliseconds: 60_000,
}
const QUICK: Size = {
  connections: 1_000,
  settling: 200,
  requestsMilliseconds: 1_000,
  idleMilliseconds: 5_000,
  activeMilliseconds: 10_000,
}

export async function run({ quick, tls }: { readonly quick: boolean; readonly tls?: boolean }): Promise<BenchResult[]> {
  if (!canSharePorts())
    throw new Error(`gateway processes need Linux and Node.js 22.12 or newer: this is ${process.version}`)
  const tools = prepareTools()
  try {
    const files = tls === true ? await createCertificate(tools.folder) : undefined
    const reader = files === undefined ? tools.reader : tools.compile('reader', LIBRARIES)
    if (reader === undefined) throw new Error('the load generator needs a C compiler, and OpenSSL headers for --tls')
    return await withProgram(flagsOf(files), (program) => {
      // Only now, so that the service does not inherit it: token requests accept the self-signed certificate.
      if (files !== undefined) process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
      return measure(program, reader, quick ? QUICK : FULL, files === undefined ? 'plain' : 'TLS')
    })
  } finally {
    tools.remove()
  }
}

function flagsOf(files: TlsFiles | undefined): Readonly<Record<string, string>> {
  return {
    ...MARKET_FLAGS,
    'gateway.processes': String(GATEWAYS),
    'stream.port': '0',
    // The last tenth is kept for clients without a connection.
    'stream.connections_max': '60000',
    'stream.heartbeat_seconds': String(HEARTBEAT_SECONDS),
    'auth.token_rate_per_second': '100000',
    ...(files === undefined ? {} : { 'http.tls.cert_file': files.certFile, 'http.tls.key_file': files.keyFile }),
  }
}

async function measure(program: Program, reader: string, size: Size, kind: string): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  const add = (name: string, unit: string, value: number): void => {
    results.push({ name: `${kind}: ${name}`, unit, runs: [value] })
    console.error(`${new Date().toISOString().slice(11, 19)} ${name}: ${significant(value)} ${unit}`)
  }
  while ((await program.metric('tidegate_gateway_processes_ready')) < GATEWAYS) await pause(100)
  const processes = new ServiceProcesses(program.pid)
  const tokens = await issueTokens(program, size.settling + size.connections)
  const port = Number(new URL(program.ws).port)
  const settling = new LoadGenerators(reader, port, 1, FIRST_ADDRESS)
  const generators = new LoadGenerators(reader, port, GENERATORS, FIRST_ADDRESS + 1)
  try {
    await settling.join(tokens.splice(0, size.settling))
    await settling.subscribeToHeartbeats(size.requestsMilliseconds)
    await pause(SETTLE_MILLISECONDS)
    await processes.collectGarbage()
    const before = processes.memoryBytes()
    const connections = await measureJoining(processes, generators, tokens, add)
    await generators.subscribeToHeartbeats(size.requestsMilliseconds)
    await pause(SETTLE_MILLISECONDS)
    const addMemory = (name: string) => add(name, 'KB', (processes.memoryBytes() - before) / connections / 1_000)
    addMemory('memory of one idle connection, with garbage')
    await processes.collectGarbage()
    addMemory('memory of one idle connection')
    add(`memory of all processes before, with ${size.settling} connections`, 'MB', before / 1_000_000)
    await measureIdle(processes, size.idleMilliseconds, add)
    await measureActive({ program, processes, generators, heartbeatSeconds: HEARTBEAT_SECONDS, ...size }, add)
  } finally {
    await Promise.all([settling.end(), generators.end()])
  }
  return results
}

/** Each once, and equally many for every client but the last. */
async function issueTokens(program: Program, count: number): Promise<string[]> {
  const tokens: string[] = []
  const begin = performance.now()
  while (tokens.length < count) {
    const wanted = Math.min(count - tokens.length, CONNECTIONS_PER_CLIENT)
    const { token, ...client } = await newCustomerToken(program, [STREAM_SCOPE])
    const ofClient = [token]
    let requested = 1
    const work = async (): Promise<void> => {
      while (requested++ < wanted) ofClient.push(await nextToken(program.http, client, [STREAM_SCOPE]))
    }
    await Promise.all(Array.from({ length: TOKENS_AT_ONCE }, work))
    tokens.push(...ofClient)
  }
  console.error(`${count} tokens issued in ${((performance.now() - begin) / 1_000).toFixed(0)} s`)
  return tokens
}

/** Returns how many connections joined. */
async function measureJoining(
  processes: ServiceProcesses,
  generators: LoadGenerators,
  tokens: readonly string[],
  add: Add,
): Promise<number> {
  const socketsBefore = processes.socketsOfGateways()
  const [seconds, generatorSeconds] = [processes.seconds(), generators.seconds()]
  const joined = await generators.join(tokens)
  const perConnect = (used: number) => (1_000 * used) / joined.connections
  add('processor time of one connect, service', 'ms', perConnect(processes.seconds() - seconds))
  add('processor time of one connect, load generators', 'ms', perConnect(generators.seconds() - generatorSeconds))
  add(`connections that joined, of ${tokens.length.toLocaleString('en')}`, '', joined.connections)
  add('first to last upgrade', 's', joined.seconds)
  add('connects', '1/s', joined.connections / joined.seconds)
  const shares = processes.socketsOfGateways().map((open, place) => open - (socketsBefore[place] as number))
  add('smallest share of a gateway process', 'connections', Math.min(...shares))
  add('largest share of a gateway process', 'connections', Math.max(...shares))
  return joined.connections
}

async function measureIdle(processes: ServiceProcesses, milliseconds: number, add: Add): Promise<void> {
  const seconds = processes.seconds()
  await pause(milliseconds)
  const share = (100_000 * (processes.seconds() - seconds)) / milliseconds
  add(`all idle, a heartbeat every ${HEARTBEAT_SECONDS} s: CPU of the service`, '% of a core', share)
}
