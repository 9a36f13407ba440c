/**
 * The ingest benchmark's publisher, in its own process. Every frame in a run is encoded before the first one is sent.
 * At a fixed rate each message is its own write at its own time, by a loop that never sleeps. At full speed, writes
 * have 64 KiB, and the next one begins when the kernel has taken the previous one. It reports how long it waited for
 * the kernel, and the share of its time spent writing.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import { type Answer, answerCommands, nowMicroseconds, writeAnswer } from './fanout-driver.ts'
import {
  INGEST_MARKET,
  INGEST_TOKEN,
  levelPayloads,
  messageText,
  orderPayloads,
  orderScript,
  type Payloads,
} from './ingest-messages.ts'

/** The process's arguments, as JSON: a run's largest numbers of messages and order changes. */
export interface PublisherSetup {
  readonly levels: number
  readonly changes: number
}

/** RFC 6455, 1.3. */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const MASK = Buffer.from([0x37, 0xfa, 0x21, 0x3d])
const CHUNK_BYTES = 65_536

class Publisher {
  readonly #setup: PublisherSetup
  #levels: Payloads | undefined
  /** By the number of changes per message. */
  readonly #orders = new Map<number, Payloads>()
  #epochNumber = 0
  #snapshot = ''
  #texts: readonly string[] = []
  #frames: readonly Buffer[] = []
  #sockets: Socket[] = []

  constructor(setup: PublisherSetup) {
    this.#setup = setup
  }

  /** Numbers the first `count` messages in a new epoch: levels, or `each` order changes. */
  async prepare(count: number, each: number): Promise<Answer> {
    const { snapshot, updates } = await this.#payloads(each)
    this.#epochNumber += 1
    const epoch = `run-${this.#epochNumber}`
    this.#snapshot = messageText(snapshot, epoch, 0)
    this.#texts = updates.slice(0, count).map((payload, index) => messageText(payload, epoch, index + 1))
    if (this.#texts.length < count) throw new Error(`only ${this.#texts.length} messages are prepared`)
    return { bytes: Math.round(this.#texts.reduce((sum, text) => sum + text.length, 0) / count) }
  }

  /** Connects lines to the ingest listener and sends the SNAPSHOT on each. */
  async push(port: number, lines: number): Promise<Answer> {
    for (let line = 0; line < lines; line++) this.#sockets.push(await handshake(port))
    this.#frames = this.#texts.map((text) => encode(text, true))
    for (const socket of this.#sockets) socket.write(encode(this.#snapshot, true))
    return {}
  }

  /** Listens for pulling connections. Each receives an acknowledgement and the epoch's SNAPSHOT. */
  async listen(): Promise<number> {
    const server = createServer()
    server.on('upgrade', (incoming, socket: Socket) => this.#accept(incoming, socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  /** Sends all messages on every line: `rate` a second, or at full speed (0). */
  send(rate: number): Promise<Answer> {
    return rate === 0 ? this.#sendFast() : this.#sendAtRate(rate)
  }

  async close(): Promise<Answer> {
    const sockets = this.#sockets
    this.#sockets = []
    for (const socket of sockets) {
      if (socket.destroyed) continue
      socket.destroy()
      await once(socket, 'close')
    }
    return {}
  }

  async #payloads(each: number): Promise<Payloads> {
    if (each === 0) {
      this.#levels ??= await levelPayloads(this.#setup.levels)
      return this.#levels
    }
    const known = this.#orders.get(each) ?? orderPayloads(orderScript(this.#setup.changes), each)
    this.#orders.set(each, known)
    return known
  }

  #accept({ headers }: IncomingMessage, socket: Socket): void {
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${HANDSHAKE_GUID}`).digest('base64')
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    // The publication begins whatever is requested.
    socket.resume()
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: tidegate.v1\r\n\r\n`,
    )
    const channels = [
      { type: 'heartbeat', success: true },
      { type: 'publication', params: { market: INGEST_MARKET.symbol }, success: true, resumed: false },
    ]
    socket.write(encode(JSON.stringify({ type: 'subscribe', channels }), false))
    socket.write(encode(this.#snapshot, false))
    this.#frames = this.#texts.map((text) => encode(text, false))
    this.#sockets = [socket]
  }

  async #sendFast(): Promise<Answer> {
    const chunks = chunksOf(this.#frames)
    const begun = nowMicroseconds()
    let waited = 0
    for (const chunk of chunks) {
      const written = this.#sockets.map((socket) => new Promise<unknown>((resolve) => socket.write(chunk, resolve)))
      const isFull = this.#sockets.some(({ writableLength }) => writableLength > 0)
      const before = nowMicroseconds()
      await Promise.all(written)
      if (isFull) waited += nowMicroseconds() - before
    }
    const microseconds = nowMicroseconds() - begun
    return { seconds: microseconds / 1e6, waited: waited / microseconds, writing: 0, lateMicroseconds: 0 }
  }

  /** Each message is its own write, even when it is late. */
  async #sendAtRate(rate: number): Promise<Answer> {
    const begun = nowMicroseconds()
    const late: number[] = []
    let writing = 0
    for (const [index, frame] of this.#frames.entries()) {
      const due = begun + (index * 1e6) / rate
      while (nowMicroseconds() < due) await new Promise((resolve) => setImmediate(resolve))
      const before = nowMicroseconds()
      late.push(before - due)
      for (const socket of this.#sockets) socket.write(frame)
      writing += nowMicroseconds() - before
      // Lets acknowledgements be read, and pending data be written to the kernel.
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const microseconds = nowMicroseconds() - begun
    while (this.#sockets.some(({ writableLength }) => writableLength > 0)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    late.sort((left, right) => left - right)
    const lateMicroseconds = late[Math.floor(late.length * 0.99)] ?? 0
    return { seconds: microseconds / 1e6, waited: 0, writing: writing / microseconds, lateMicroseconds }
  }
}

async function handshake(port: number): Promise<Socket> {
  const outgoing = request({
    port,
    host: '127.0.0.1',
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': KEY,
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'tidegate.publish.v1',
      authorization: `Bearer ${INGEST_TOKEN}`,
    },
  })
  outgoing.on('response', ({ statusCode }) => {
    throw new Error(`the ingest listener answers ${statusCode}`)
  })
  outgoing.end()
  const [, socket] = (await once(outgoing, 'upgrade')) as [IncomingMessage, Socket]
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.resume()
  return socket
}

function chunksOf(frames: readonly Buffer[]): Buffer[] {
  const chunks: Buffer[] = []
  let waiting: Buffer[] = []
  let bytes = 0
  for (const frame of frames) {
    waiting.push(frame)
    bytes += frame.length
    if (bytes < CHUNK_BYTES) continue
    chunks.push(Buffer.concat(waiting))
    waiting = []
    bytes = 0
  }
  if (waiting.length > 0) chunks.push(Buffer.concat(waiting))
  return chunks
}

/** One text frame. A client's frames are masked. RFC 6455, 5.2. */
function encode(text: string, isMasked: boolean): Buffer {
  const payload = Buffer.from(text)
  const { length } = payload
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  header[0] = 0x81
  header[1] = (length < 126 ? length : length < 65_536 ? 126 : 127) | (isMasked ? 0x80 : 0)
  if (header.length === 4) header.writeUInt16BE(length, 2)
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2)
  if (!isMasked) return Buffer.concat([header, payload])
  for (let index = 0; index < length; index++) payload[index] = payload[index]! ^ MASK[index & 3]!
  return Buffer.concat([header, MASK, payload])
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const publisher = new Publisher(JSON.parse(process.argv[2] as string) as PublisherSetup)
  writeAnswer({ port: await publisher.listen() })
  answerCommands({
    prepare: (count, each) => publisher.prepare(count, each),
    push: (port, lines) => publisher.push(port, lines),
    send: (rate) => publisher.send(rate),
    close: () => publisher.close(),
  })
}
