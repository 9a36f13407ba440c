/**
 * A peer on a bare socket: it writes arbitrary bytes, over TCP or TLS, and keeps what it receives. It follows no
 * protocol, answers no ping, and never reconnects.
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Waiters } from '../support/waiters.ts'

/** A service's address. */
export interface Target {
  readonly host: string
  readonly port: number
  /** The certificate to trust; absent: plain TCP. */
  readonly ca?: string
  /** The local address to connect from; absent: the host's default. */
  readonly from?: string
}

export function targetOf(url: string, ca?: string): Target {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port), ...(ca === undefined ? {} : { ca }) }
}

/** More than any response that a test requests. Longer responses lose their beginning. */
const KEPT_BYTES_MAX = 8_388_608

export class RawPeer {
  readonly socket: Socket
  /** The TCP connection, which differs from the socket only with TLS. */
  readonly #transport: Socket
  /** Received data not taken yet. */
  received: Buffer = Buffer.alloc(0)
  /** True when the other side has ended or reset the connection. */
  hasEnded = false
  /** Receives the data instead of `received`. */
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
    // A reset is reported as an error here, and is followed by 'close'.
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

  /** Half-closes the connection: the other side sees its end. */
  end(): void {
    this.socket.end()
  }

  /** Resets the connection. */
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

  /** Must be called after data from `onData` has been processed. */
  notify(): void {
    this.#waiters.notify()
  }
}

/** One HTTP response received on a bare socket. */
export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** The first response in the received data, when it is complete. */
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

/** Sends bytes on a new connection and reads one response. Undefined: the connection ended without one. */
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
