/**
 * The load generator for machines without a C compiler: the same commands and responses as native/reader.c, at several
 * times its cost. It counts WebSocket messages by their frame headers and decodes no JSON.
 */
import { createHash, type Hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect as connectTls } from 'node:tls'
import { pathToFileURL } from 'node:url'
import { nowMicroseconds } from './fanout-driver.ts'

const STAMP_MODULUS = 1_000_000_000_000
const PREFIX_BYTES = 192
const SLOW_MILLISECONDS = 100
const SLOW_BYTES = 1_600
const END_OF_HEAD = '\r\n\r\n'
const MARK = Buffer.from('"amount":"')

/** One connection's frames. Payloads are discarded. */
class FrameCounter {
  messages = 0
  readonly hash: Hash = createHash('sha256')
  kept: Buffer[] | undefined
  readonly #onMessage: (prefix: Buffer) => void
  readonly #header = Buffer.alloc(10)
  readonly #prefix = Buffer.alloc(PREFIX_BYTES)
  #headerFill = 0
  #prefixFill = 0
  #payloadLeft = 0
  #inPayload = false

  constructor(onMessage: (prefix: Buffer) => void) {
    this.#onMessage = onMessage
  }

  take(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (!this.#inPayload) {
        at = this.#takeHeader(bytes, at)
        if (!this.#inPayload) return
      }
      const end = Math.min(bytes.length, at + this.#payloadLeft)
      this.#takePayload(bytes.subarray(at, end))
      this.#payloadLeft -= end - at
      at = end
      if (this.#payloadLeft > 0) return
      this.#inPayload = false
      const isData = ((this.#header[0] as number) & 0x0f) < 8
      if (!isData || ((this.#header[0] as number) & 0x80) === 0) continue
      this.messages += 1
      this.#onMessage(this.#prefix.subarray(0, this.#prefixFill))
      this.#prefixFill = 0
    }
  }

  #takeHeader(bytes: Buffer, from: number): number {
    const header = this.#header
    for (let at = from; at < bytes.length; at++) {
      header[this.#headerFill++] = bytes[at] as number
      const short = header[1] as number
      const wanted = this.#headerFill < 2 || short < 126 ? 2 : short === 126 ? 4 : 10
      if (this.#headerFill < wanted) continue
      this.#headerFill = 0
      this.#inPayload = true
      if (short < 126) this.#payloadLeft = short
      else this.#payloadLeft = short === 126 ? header.readUInt16BE(2) : header.readUInt32BE(6)
      return at + 1
    }
    return bytes.length
  }

  #takePayload(part: Buffer): void {
    if (this.#prefixFill < PREFIX_BYTES) this.#prefixFill += part.copy(this.#prefix, this.#prefixFill)
    if (this.messages !== 1) return
    this.hash.update(part)
    this.kept?.push(Buffer.from(part))
  }
}

interface Connection {
  readonly mode: number
  readonly request: string
  readonly socket: Socket
  readonly counter: FrameCounter
}

class Load {
  readonly connections: Connection[] = []
  folder = ''
  messages = 0
  bytes = 0
  lastArrival = 0
  latencies: number[] | undefined

  /** Without a check of the certificate. */
  readonly #isOverTls: boolean

  constructor(isOverTls: boolean) {
    this.#isOverTls = isOverTls
  }

  async open(port: number, line: string): Promise<void> {
    const [mode = '0', path = '/', request = ''] = line.split('\t')
    const counter = new FrameCounter((prefix) => this.#onMessage(connection, prefix))
    const socket = await handshake(port, path, this.#isOverTls)
    const connection: Connection = { mode: Number(mode), request, socket, counter }
    this.connections.push(connection)
    socket.on('close', () => process.exit(1))
    if (connection.mode === 0) {
      socket.on('data', (bytes) => this.#take(connection, bytes as Buffer))
    } else if (connection.mode === 2) {
      setInterval(() => {
        const bytes = socket.read(SLOW_BYTES) as Buffer | null
        if (bytes !== null) this.#take(connection, bytes)
      }, SLOW_MILLISECONDS)
    }
  }

  /** Sends the requests spread over `milliseconds` and waits until all reading connections have `expected` messages. */
  async subscribe(milliseconds: number, expected: number): Promise<number> {
    const started = performance.now()
    for (const [index, { socket, request }] of this.connections.entries()) {
      while ((performance.now() - started) * this.connections.length < index * milliseconds) await pause(1)
      if (request !== '') socket.write(maskedFrame(request))
    }
    const isWaiting = ({ mode, counter }: Connection) => mode === 0 && counter.messages < expected
    while (this.connections.some(isWaiting)) await pause(1)
    return (performance.now() - started) / 1000
  }

  groups(): Record<string, number> {
    const byDigest = new Map<string, Connection[]>()
    for (const connection of this.connections) {
      const digest = connection.counter.hash.digest('hex')
      byDigest.set(digest, [...(byDigest.get(digest) ?? []), connection])
    }
    let kept = 0
    let covered = 0
    for (const group of byDigest.values()) {
      const texts = group.flatMap(({ counter }) => (counter.kept === undefined ? [] : [Buffer.concat(counter.kept)]))
      for (const text of texts) writeFileSync(join(this.folder, `${kept++}.json`), text)
      if (texts.length > 0) covered += group.length
    }
    const missing = this.connections.filter(({ counter }) => counter.messages < 2).length
    return { groups: byDigest.size, kept, covered, missing }
  }

  #take(connection: Connection, bytes: Buffer): void {
    this.bytes += bytes.length
    connection.counter.take(bytes)
  }

  #onMessage(connection: Connection, prefix: Buffer): void {
    this.messages += 1
    this.lastArrival = performance.now()
    if (this.latencies === undefined || connection.mode !== 0) return
    const from = prefix.indexOf(MARK) + MARK.length
    const end = prefix.indexOf('"', from)
    if (from < MARK.length || end === -1) return
    const sent = Number(prefix.toString('latin1', from, end).replace('.', '')) % STAMP_MODULUS
    this.latencies.push(((nowMicroseconds() + STAMP_MODULUS - sent) % STAMP_MODULUS) / 1000)
  }
}

async function main(port: number, isOverTls: boolean): Promise<void> {
  const load = new Load(isOverTls)
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const next = async () => {
    const { value, done } = await lines.next()
    if (done === true) process.exit(0)
    return value as string
  }
  const count = Number(await next())
  for (let index = 0; index < count; index++) await load.open(port, await next())
  writeAnswer({ connected: count })
  for (;;) {
    const [name, first = '', second = ''] = (await next()).split(' ')
    if (name === 'subscribe') writeAnswer({ seconds: await load.subscribe(Number(first), Number(second)) })
    else if (name === 'measure') writeAnswer(await measure(load, Number(first), second === '1'))
    else if (name === 'keep') writeAnswer(keep(load, Number(first), second))
    else if (name === 'groups') writeAnswer(load.groups())
    else if (name === 'total') {
      load.lastArrival = performance.now()
      while (performance.now() - load.lastArrival < Number(first)) await pause(5)
      writeAnswer({ messages: load.messages, bytes: load.bytes })
    } else throw new Error(`unknown command ${name}`)
  }
}

function keep(load: Load, count: number, folder: string): Record<string, number> {
  load.folder = folder
  const step = Math.max(1, Math.floor(load.connections.length / count))
  for (let index = 0; index < load.connections.length; index += step) {
    const connection = load.connections[index] as Connection
    connection.counter.kept = []
  }
  return {}
}

async function measure(load: Load, milliseconds: number, stamped: boolean): Promise<Record<string, number>> {
  load.latencies = stamped ? [] : undefined
  const { messages, bytes } = load
  const started = performance.now()
  const cpu = process.cpuUsage()
  await pause(milliseconds)
  const { user, system } = process.cpuUsage(cpu)
  const sorted = Float64Array.from(load.latencies ?? []).sort()
  load.latencies = undefined
  const percentile = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return {
    seconds: (performance.now() - started) / 1000,
    messages: load.messages - messages,
    bytes: load.bytes - bytes,
    busySeconds: (user + system) / 1_000_000,
    stamped: sorted.length,
    p50: percentile(0.5),
    p99: percentile(0.99),
    p999: percentile(0.999),
    worst: percentile(1),
  }
}

function handshake(port: number, path: string, isOverTls: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const address = { port, host: '127.0.0.1' }
    const onConnect = () => {
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
      )
    }
    const socket = isOverTls
      ? connectTls({ ...address, rejectUnauthorized: false }, onConnect)
      : connect(address, onConnect)
    socket.setNoDelay(true)
    socket.once('error', reject)
    let answer: Buffer = Buffer.alloc(0)
    const onReadable = () => {
      const part = socket.read() as Buffer | null
      if (part !== null) answer = Buffer.concat([answer, part])
      const end = answer.indexOf(END_OF_HEAD)
      if (end === -1) return
      socket.off('readable', onReadable)
      // The server may already have sent frames after its response, such as the first ping.
      socket.unshift(answer.subarray(end + END_OF_HEAD.length))
      if (answer.indexOf('HTTP/1.1 101') === 0) resolve(socket)
      else reject(new Error(`refused: ${answer}`))
    }
    socket.on('readable', onReadable)
  })
}

/** A masked text frame (RFC 6455 section 5.3) with the key 0, so that the text stays readable. */
function maskedFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  const header =
    payload.length < 126 ? [0x81, 0x80 | payload.length] : [0x81, 0xfe, payload.length >> 8, payload.length]
  return Buffer.concat([Buffer.from([...header, 0, 0, 0, 0]), payload])
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function writeAnswer(answer: Record<string, number>): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await main(Number(process.argv[2]), process.argv[3] === 'tls')
}
