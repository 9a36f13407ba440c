/**
 * A peer on a bare socket: it writes whatever bytes a test wants, over TCP or TLS, and keeps what comes back. It obeys
 * no protocol, answers no ping, and never reconnects.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Waiters } from '../support/waiters.ts'

/** Where a service listens. */
export interface Target {
  readonly host: string
  readonly port: number
  /** Certificate to trust; absent: plain TCP. */
  readonly ca?: string
  /** Address to come from; absent: the host's own. */
  readonly from?: string
}

export function targetOf(url: string, ca?: string): Target {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port), ...(ca === undefined ? {} : { ca }) }
}

/** More than any answer a test asks for; a peer that is sent more forgets the beginning. */
const KEPT_BYTES_MAX = 8_388_608

export class RawPeer {
  readonly socket: Socket
  /** The TCP connection: the same, unless TLS is spoken over it. */
  readonly #transport: Socket
  /** What came and was not taken yet. */
  received: Buffer = Buffer.alloc(0)
  /** True when the other side has ended, or cut, the connection. */
  hasEnded = false
  /** Takes what comes instead of `received`. */
  onData: ((data: Buffer) => void) | undefined
  readonly #waiters = new Waiters()

  private constructor(socket: Socket, transport: Socket) {
    this.socket = socket
    this.#transport = transport
    socket.on('data', (data) => {
      if (this.onData === undefined) this.received = Buffer.concat([this.received, data]).subarray(-KEPT_BYTES_MAX)
      else this.onData(data)
      this.#waiters.notify()
    })
    const ended = (): void => {
      this.hasEnded = true
      this.#waiters.notify()
      this.#waiters.fail(`the connection ended; received: ${this.received.toString('latin1').slice(0, 300)}`)
    }
    socket.on('end', ended)
    socket.on('close', ended)
    // A cut shows as an error here, and is followed by 'close'.
    socket.on('error', () => undefined)
  }

  static connect({ host, port, ca, from }: Target): Promise<RawPeer> {
    return new Promise((resolve, reject) => {
      const local = from === undefined ? {} : { localAddress: from }
      const transport = connectTcp({ host, port, ...local }, () => {
        if (ca === undefined) resolve(new RawPeer(transport, transport))
      })
      transport.setNoDelay(true)
      transport.once('error', reject)
      if (ca === undefined) return
      const socket = connectTls({ socket: transport, host, ca }, () => resolve(new RawPeer(socket, transport)))
      socket.once('error', reject)
    })
  }

  send(bytes: Buffer | string): void {
    if (this.socket.writable) this.socket.write(bytes)
  }

  /** Half-closes: the other side sees an end. */
  end(): void {
    this.socket.end()
  }

  /** Cuts: the other side sees a reset. */
  reset(): void {
    this.#transport.resetAndDestroy()
  }

  destroy(): void {
    this.socket.destroy()
  }

  until(what: string, predicate: () => boolean, limitMilliseconds?: number): Promise<void> {
    if (this.hasEnded && !predicate()) {
      return Promise.reject(new Error(`waited for ${what}, but the connection has ended`))
    }
    return this.#waiters.until(what, predicate, limitMilliseconds)
  }

  untilEnded(limitMilliseconds?: number): Promise<void> {
    return this.#waiters.until('the end of the connection', () => this.hasEnded, limitMilliseconds)
  }

  /** To be called by whoever took data through `onData` and has looked at it. */
  notify(): void {
    this.#waiters.notify()
  }
}

/** One HTTP answer as it came over a bare socket. */
export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** The first answer in what was received, when it is whole. */
export function readAnswer(received: Buffer): RawAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
  const status = Number(statusLine.split(' ')[1])
  const length = Number(headers.get('content-length') ?? 0)
  if (status !== 101 && received.length < headEnd + 4 + length) return undefined
  return { status, headers, body: received.toString('utf8', headEnd + 4, headEnd + 4 + length) }
}

/** Sends bytes on a new connection and reads one answer; undefined: the connection ended without any. */
export async function exchange(target: Target, bytes: Buffer | string): Promise<RawAnswer | undefined> {
  const peer = await RawPeer.connect(target)
  try {
    peer.send(bytes)
    await peer.until('an answer or an end', () => peer.hasEnded || readAnswer(peer.received) !== undefined)
    return readAnswer(peer.received)
  } finally {
    peer.destroy()
  }
}
