/**
 * A NATS connection that is reopened whenever it is lost, with all its subscriptions. The clock limits every wait: an
 * attempt, the pause after it, and the server's silence on an open connection. Publishing never waits and stores
 * nothing. A message is dropped and counted while there is no connection, or while the server does not take it. The
 * client library would keep such messages without a limit, so this module counts the bytes that the server has not
 * confirmed. Passwords and tokens appear in no log and no error.
 */
import { createConnection } from 'node:net'
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  type Msg,
  type NatsConnection as Opened,
  type Subscription,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Counter, Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { wait, withDeadline, withTimeLimit } from '../../platform/base/time-limit.ts'
import { watchForSilence } from './nats-silence.ts'

/** Unconfirmed bytes above which the server is asked to confirm them, and above which messages are dropped. */
const CONFIRM_BYTES = 1_048_576
const UNCONFIRMED_BYTES_MAX = 32 * 1_048_576

/** Unconfirmed bytes above which a message sequence waits, so it delays other messages on the connection by no more. */
const SEQUENCE_BYTES_MAX = 4 * 1_048_576

/** The client library's pings are off, by the longest timer: `nats-silence` has better ones. */
const LIBRARY_PING_MILLISECONDS = 2 ** 31 - 1

/** Wait before the next attempt. It doubles after each failure up to the maximum, plus a random part as long. */
const RECONNECT_MILLISECONDS_MIN = 250
const RECONNECT_MILLISECONDS_MAX = 2_000
/** Limits the wait for the server's greeting, and then for one address to accept the credentials. */
const CONNECT_MILLISECONDS_MAX = 5_000
/** Limits the wait for all addresses of a server. */
const OPEN_MILLISECONDS_MAX = 10_000

/** The longest wait for messages under way when a leadership ends or begins. */
const FLUSH_MILLISECONDS_MAX = 1_000

const NO_ANSWER = 'the server does not answer'

/** The server's default message size limit. */
const PAYLOAD_BYTES_DEFAULT = 1_048_576

/** A NATS server's address and this client's credentials. */
export interface NatsAccess {
  /**
   * `nats://` or `tls://`, with `user:password@` or `token@` if the server requires them. Several, separated by commas,
   * are tried in order.
   */
  readonly url: string
  /** The content of a credentials file (`.creds`), if there is one. */
  readonly credentials: Uint8Array | undefined
  /** PEM files for `tls://`, read at each attempt. */
  readonly tls: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }
}

interface NatsConnectionOptions extends NatsAccess {
  /** Names this process to the server. */
  readonly name: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  /** A number in [0, 1). */
  readonly random: () => number
}

/** Takes a subscription's message. `reply` is empty when no answer is expected. */
export type OnNatsMessage = (data: Buffer, reply: string) => void

interface Server {
  readonly isEncrypted: boolean
  readonly host: string
  readonly port: number
  /** For display. */
  readonly place: string
  readonly authenticator: Authenticator | undefined
}

interface Subscribed {
  readonly subject: string
  readonly take: OnNatsMessage
  /** The subscription on the open connection. */
  subscription: Subscription | undefined
}

export class NatsConnection {
  readonly #options: NatsConnectionOptions
  readonly #servers: readonly Server[]
  readonly #subscribed = new Set<Subscribed>()
  readonly #dropped: Counter
  #connection: Opened | undefined
  #problem: string | undefined = 'not connected yet'
  /** The last logged problem, by server. */
  readonly #logged = new Map<string, string>()
  readonly #stopping = new AbortController()
  #unconfirmedBytes = 0
  /** Resolves when the server has confirmed the sent bytes. Undefined while no confirmation is pending. */
  #confirming: Promise<void> | undefined
  #endConfirming: () => void = () => undefined
  readonly #onOpened: (() => void)[] = []

  /** Connects in the background, and reconnects until `stop`. */
  constructor(options: NatsConnectionOptions) {
    this.#options = options
    this.#servers = serversOf(options)
    const registers = [options.metrics]
    this.#dropped = new Counter({
      name: 'tidegate_bus_dropped_total',
      help: 'Messages not sent to NATS: no connection, refused by the server, or too large',
      registers,
    })
    const isConnected = () => (this.#problem === undefined ? 1 : 0)
    new Gauge({
      name: 'tidegate_bus_connected',
      help: 'Whether the connection to NATS is open',
      registers,
      collect() {
        this.set(isConnected())
      },
    })
    void this.#run()
  }

  /** Why there is no connection. Undefined while there is one. It names the server and contains no secret. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The largest message in bytes. */
  get payloadBytesMax(): number {
    return this.#connection?.info?.max_payload ?? PAYLOAD_BYTES_DEFAULT
  }

  /** Sends a message. False when it was dropped. */
  publish(subject: string, bytes: Uint8Array, reply = ''): boolean {
    const connection = this.#connection
    const isTaken =
      connection !== undefined &&
      !connection.isClosed() &&
      this.#unconfirmedBytes + bytes.length <= UNCONFIRMED_BYTES_MAX &&
      bytes.length <= this.payloadBytesMax
    if (!isTaken) {
      this.#dropped.inc()
      return false
    }
    this.#unconfirmedBytes += bytes.length
    connection.publish(subject, bytes, reply === '' ? {} : { reply })
    if (this.#unconfirmedBytes > CONFIRM_BYTES) this.#confirm(connection)
    return true
  }

  /**
   * Resolves when the server has taken all published messages, and its messages sent before that answer have arrived.
   * It resolves at once without a connection, and after FLUSH_MILLISECONDS_MAX at the latest.
   */
  async flushed(): Promise<void> {
    const flushing = this.#connection?.flush().catch(() => undefined)
    await withTimeLimit(this.#options.clock, FLUSH_MILLISECONDS_MAX, Promise.resolve(flushing), () => undefined)
  }

  /** Sends messages over one connection as fast as the server takes them. Stops at the first dropped message. */
  async publishInTurn(subject: string, messages: Iterable<Uint8Array>): Promise<void> {
    const connection = this.#connection
    for (const bytes of messages) {
      while (connection !== undefined && this.#unconfirmedBytes + bytes.length > SEQUENCE_BYTES_MAX) {
        await this.#confirm(connection)
        if (this.#connection !== connection) return
      }
      if (!this.publish(subject, bytes)) return
    }
  }

  /** Calls `take` whenever a connection has been opened and all subscriptions have been requested on it. */
  onOpened(take: () => void): void {
    this.#onOpened.push(take)
  }

  /** Calls `take` with each message until the returned function is called, also after a reconnection. */
  subscribe(subject: string, take: OnNatsMessage): () => void {
    const subscribed: Subscribed = { subject, take, subscription: undefined }
    this.#subscribed.add(subscribed)
    if (this.#connection !== undefined) this.#attach(subscribed, this.#connection)
    return () => {
      this.#subscribed.delete(subscribed)
      if (this.#connection?.isClosed() === false) subscribed.subscription?.unsubscribe()
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#connection?.close()
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#options
    const { signal } = this.#stopping
    let milliseconds = RECONNECT_MILLISECONDS_MIN
    for (let attempt = 0; !signal.aborted; attempt++) {
      const server = this.#servers[attempt % this.#servers.length] as Server
      try {
        const connection = await open(server, { ...this.#options, signal })
        milliseconds = RECONNECT_MILLISECONDS_MIN
        this.#begin(connection, server)
        this.#fail(server, await untilLost(connection, clock))
      } catch (error) {
        this.#fail(server, textOf(error))
      }
      if (signal.aborted) return
      await wait(clock, milliseconds * (1 + random()))
      milliseconds = Math.min(2 * milliseconds, RECONNECT_MILLISECONDS_MAX)
    }
  }

  #begin(connection: Opened, { place }: Server): void {
    if (this.#stopping.signal.aborted) {
      void connection.close()
      return
    }
    this.#connection = connection
    this.#problem = undefined
    this.#unconfirmedBytes = 0
    this.#confirming = undefined
    this.#logged.clear()
    for (const subscribed of this.#subscribed) this.#attach(subscribed, connection)
    for (const take of this.#onOpened) take()
    this.#options.log.info({ server: place, version: connection.info?.version }, 'connected to NATS')
  }

  #fail({ place }: Server, reason: string): void {
    this.#connection = undefined
    this.#endConfirming()
    this.#problem = `${place}: ${reason}`
    if (this.#stopping.signal.aborted || this.#logged.get(place) === reason) return
    this.#logged.set(place, reason)
    this.#options.log.error({ server: place, reason }, 'no connection to NATS')
  }

  #attach(subscribed: Subscribed, connection: Opened): void {
    const { subject, take } = subscribed
    const callback = (error: Error | null, { data, reply }: Msg): void => {
      if (error !== null) {
        this.#options.log.error({ subject, reason: textOf(error) }, 'NATS refuses a subscription')
        return
      }
      try {
        take(Buffer.from(data.buffer, data.byteOffset, data.length), reply ?? '')
      } catch (failure) {
        // The client library would write the error to the console and stop reading.
        setImmediate(() => {
          throw failure
        })
      }
    }
    subscribed.subscription = connection.subscribe(subject, { callback })
  }

  /** Resolves when the server has confirmed the bytes sent before, or the connection is lost. */
  #confirm(connection: Opened): Promise<void> {
    const bytes = this.#unconfirmedBytes
    this.#confirming ??= new Promise((resolve) => {
      this.#endConfirming = resolve
      const finish = (): void => {
        if (this.#connection !== connection) return
        this.#confirming = undefined
        this.#unconfirmedBytes -= bytes
        resolve()
      }
      // The client library leaves it pending when the connection is lost.
      connection.flush().then(finish, finish)
    })
    return this.#confirming
  }
}

/** Connects once. Resolves with the server and its version, for display. The error contains no secret. */
export async function tryNats(access: NatsAccess, clock: Clock): Promise<string> {
  let last: unknown
  const { signal } = new AbortController()
  for (const server of serversOf(access)) {
    try {
      const connection = await open(server, { ...access, clock, name: 'tidegate doctor', signal })
      const version = connection.info?.version ?? 'unknown'
      await connection.close()
      return `${server.place}, NATS ${version}`
    } catch (error) {
      last = new Error(`${server.place}: ${textOf(error)}`)
    }
  }
  throw last
}

interface Opening extends Pick<NatsConnectionOptions, 'tls' | 'name' | 'clock'> {
  readonly signal: AbortSignal
}

async function open(server: Server, { tls, name, clock, signal }: Opening): Promise<Opened> {
  await greeted(server, clock, signal)
  const opening = openWithLibrary(server, tls, name)
  return withTimeLimit(clock, OPEN_MILLISECONDS_MAX, opening, () => {
    opening.then(
      (connection) => connection.close(),
      () => undefined,
    )
    throw new Error(NO_ANSWER)
  })
}

function openWithLibrary(server: Server, tls: NatsAccess['tls'], name: string): Promise<Opened> {
  const { host, place, authenticator, isEncrypted } = server
  // Without `host`, the library would compare an IP address's certificate with `localhost`.
  const encryption = { ...tls, host }
  return connect({
    servers: place,
    name,
    ...(authenticator === undefined ? {} : { authenticator }),
    ...(isEncrypted ? { tls: encryption } : {}),
    // This class reconnects instead, because it keeps no unsent bytes from the last connection.
    reconnect: false,
    ignoreClusterUpdates: true,
    timeout: CONNECT_MILLISECONDS_MAX,
    pingInterval: LIBRARY_PING_MILLISECONDS,
    noEcho: true,
  })
}

/**
 * Waits for a server's first bytes, because a NATS server sends them at once. When they are late, as with a suspended
 * server, the client library would leave the socket open.
 */
function greeted({ host, port }: Server, clock: Clock, stop: AbortSignal): Promise<void> {
  const deadline = { clock, milliseconds: CONNECT_MILLISECONDS_MAX, stop, late: () => new Error(NO_ANSWER) }
  return withDeadline(deadline, (signal) => {
    const socket = createConnection({ host, port })
    signal.addEventListener('abort', () => socket.destroy())
    return new Promise<void>((resolve, reject) => {
      const end = (): void => reject(new Error('the server closed the connection without a greeting'))
      socket
        .once('data', () => resolve())
        .on('error', reject)
        .on('end', end)
        .on('close', end)
    })
  })
}

/** Resolves with the reason when the connection is closed or the server is silent. */
async function untilLost(connection: Opened, clock: Clock): Promise<string> {
  let endWatch: (() => void) | undefined
  const silence = new Promise<string>((resolve) => {
    endWatch = watchForSilence(connection, clock, () => resolve(NO_ANSWER))
  })
  try {
    return await Promise.race([untilClosed(connection), silence])
  } finally {
    endWatch?.()
    void connection.close()
  }
}

/** Resolves with the reason when the connection is closed. */
async function untilClosed(connection: Opened): Promise<string> {
  let reason = 'the connection was closed'
  for await (const status of connection.status()) if (status.type === 'error') reason = textOf(status.error)
  const error = await connection.closed()
  return error instanceof Error ? textOf(error) : reason
}

/** Errors from the client library and the system name hosts and reasons, and contain no secret. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message
}

const PORT = 4222

function serversOf({ url, credentials }: NatsAccess): readonly Server[] {
  return url.split(',').map((text) => {
    const { protocol, hostname, port, username, password } = new URL(text)
    const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)]
    let authenticator: Authenticator | undefined
    if (credentials !== undefined) authenticator = credsAuthenticator(credentials)
    else if (secret !== '') authenticator = usernamePasswordAuthenticator(user, secret)
    else if (user !== '') authenticator = tokenAuthenticator(user)
    const number = port === '' ? PORT : Number(port)
    return {
      isEncrypted: protocol === 'tls:',
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: number,
      place: `${hostname}:${number}`,
      authenticator,
    }
  })
}
