/**
 * Counts the received bytes that a listener holds in memory: incomplete heads and bodies, requests that are not
 * answered yet, and an idle connection's last head, which Node's parser keeps until the next one begins (measured with
 * Node 20: 500 connections that had each sent a 500 KB head held 215 MB after their answers). An `Intake` counts for
 * one connection, an `IntakeBudget` for the listener. When the budget, or one holder's part, is exceeded, it selects
 * the connections to cut. Only sizes are kept here, never data.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { SharedPool } from '../base/shared-pool.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The request's bytes, held until it is answered. */
  heldBytes: number
  /** Its body's bytes that were discarded because it had been answered already. */
  discardedBytes: number
  /** Whether its complete body has been counted. */
  isCounted: boolean
}

/** A message's rate is not checked until it has taken this long. */
const RATE_GRACE_MILLISECONDS = 5_000
/** Minimum mean rate for a message. The slowest mobile links are more than ten times as fast. */
const RATE_BYTES_PER_SECOND_MIN = 512
/**
 * Cutting ends at this share of the budget, or of a holder's part. More than a tenth is then free, so connections are
 * not searched again for every chunk.
 */
const SHARE_LEFT = 7 / 8
const HEAD_END = Buffer.from('\r\n\r\n')

/** The bytes that one connection holds. */
export class Intake {
  readonly socket: Socket
  /** Requests whose answer is not complete, in the order they came. */
  readonly open = new Set<Exchange>()
  latest: Exchange | undefined
  /** A parser error was answered, and the connection is about to end. */
  isEnding = false
  /** All bytes that the connection holds. */
  heldBytes = 0
  readonly #budget: IntakeBudget
  #holder: string
  /** Received since the last counted request: an unfinished body or head. */
  #pendingBytes = 0
  /** The last complete head's size, which the parser keeps. */
  #parserBytes = 0
  /** A message has begun, and its head is not complete. */
  #isHeadOpen = false
  /** For the message in progress: when it began, and the bytes received. */
  #startMilliseconds = 0
  #messageBytes = 0
  #lastChunkBytes = 0
  /** The last chunk ended where a head or a chunked body ends. */
  #endsClean = false

  /** @param holder the connection's holder, until `move` */
  constructor(socket: Socket, budget: IntakeBudget, holder: string) {
    this.socket = socket
    this.#budget = budget
    this.#holder = holder
  }

  get holder(): string {
    return this.#holder
  }

  /** The connection has another holder from now on. */
  move(holder: string): void {
    this.#budget.move(this, holder)
    this.#holder = holder
  }

  /** Whether we wait for the peer: a message is unfinished, or none is in progress. */
  get waitsForPeer(): boolean {
    return this.#isHeadOpen || this.open.size === 0 || this.latest?.request.complete === false
  }

  /** Must be called with each chunk before it is parsed. Returns the connections to cut to keep the budget. */
  received(chunk: Buffer, nowMilliseconds: number): readonly Intake[] {
    this.#count(true)
    const bytes = chunk.length
    const isBodyOpen = this.latest?.request.complete === false
    this.#endsClean = endsClean(chunk)
    if (!isBodyOpen && !this.#isHeadOpen) {
      // Old clients send a line end after a body. It does not begin a message.
      if (this.#endsClean && bytes <= 2) return []
      this.#isHeadOpen = true
      this.#start(nowMilliseconds)
    }
    this.#discard()
    this.#messageBytes += bytes
    this.#lastChunkBytes = bytes
    this.#pendingBytes += bytes
    this.#hold(bytes)
    return this.#budget.takeExcess(this.#holder)
  }

  /** Must be called when a head is complete. */
  requested(request: IncomingMessage, response: ServerResponse, nowMilliseconds: number): Exchange {
    this.#count(false)
    this.#isHeadOpen = false
    const headBytes = this.#takePending(headBytesOf(request))
    this.#hold(headBytes - this.#parserBytes)
    this.#parserBytes = headBytes
    const exchange = { request, response, heldBytes: headBytes, discardedBytes: 0, isCounted: false }
    this.#hold(headBytes)
    this.latest = exchange
    this.open.add(exchange)
    this.#start(nowMilliseconds)
    return exchange
  }

  /** Must be called when an answer is complete or cannot be sent any more. */
  answered(exchange: Exchange): void {
    this.#count(true)
    this.open.delete(exchange)
    this.#hold(-exchange.heldBytes)
    exchange.heldBytes = 0
    this.#discard()
  }

  /** Whether the message in progress arrives too slowly. A body that we are not reading is never too slow. */
  isTooSlow(nowMilliseconds: number): boolean {
    const request = this.latest?.request
    const isReadingBody = request?.complete === false && request.readableFlowing === true
    const milliseconds = nowMilliseconds - this.#startMilliseconds
    if (!(this.#isHeadOpen || isReadingBody) || milliseconds < RATE_GRACE_MILLISECONDS) return false
    return this.#messageBytes * 1000 < milliseconds * RATE_BYTES_PER_SECOND_MIN
  }

  /** Must be called when the connection is closed or upgraded. */
  release(): void {
    this.#budget.remove(this)
    this.heldBytes = 0
  }

  #start(nowMilliseconds: number): void {
    this.#startMilliseconds = nowMilliseconds
    this.#messageBytes = 0
    this.#budget.renew(this)
  }

  /**
   * Counts the latest request's body once it is complete, so pending bytes belong to the next message.
   * @param isInLastChunk whether it ended in the latest chunk
   */
  #count(isInLastChunk: boolean): void {
    const { latest } = this
    if (latest === undefined || latest.isCounted || !latest.request.complete) return
    latest.isCounted = true
    const length = latest.request.headers['content-length']
    const next =
      length !== undefined
        ? this.#pendingBytes + latest.discardedBytes - Number(length)
        : isInLastChunk && this.#endsClean
          ? 0
          : Math.min(this.#pendingBytes, this.#lastChunkBytes)
    const bodyBytes = this.#takePending(this.#pendingBytes - Math.max(0, next))
    if (!this.open.has(latest)) return
    latest.heldBytes += bodyBytes
    this.#hold(bodyBytes)
  }

  /** The rest of a body is discarded as it arrives when its request is answered. */
  #discard(): void {
    const { latest } = this
    if (latest === undefined || latest.request.complete || this.open.has(latest)) return
    latest.discardedBytes += this.#takePending(this.#pendingBytes)
  }

  /** Takes up to `bytes` from the pending bytes. */
  #takePending(bytes: number): number {
    const taken = Math.min(bytes, this.#pendingBytes)
    this.#pendingBytes -= taken
    this.#hold(-taken)
    return taken
  }

  #hold(bytes: number): void {
    if (this.#budget.hold(this, bytes)) this.heldBytes += bytes
  }
}

/** The bytes held by all connections to a listener. */
export class IntakeBudget {
  readonly #bytesMax: number
  readonly #pool: SharedPool
  /** In the order in which their current or last messages began. */
  readonly #intakes = new Set<Intake>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
    this.#pool = new SharedPool(bytesMax)
  }

  get heldBytes(): number {
    return this.#pool.total
  }

  /** Connections that have sent something. */
  get intakes(): Iterable<Intake> {
    return this.#intakes
  }

  /** Returns whether the connection is still counted. */
  hold(intake: Intake, bytes: number): boolean {
    if (!this.#intakes.has(intake)) return false
    this.#pool.add(intake.holder, bytes)
    return true
  }

  /** A message has begun on the connection, which moves to the end of the order. */
  renew(intake: Intake): void {
    if (!this.#intakes.has(intake) && intake.socket.destroyed) return
    this.#intakes.delete(intake)
    this.#intakes.add(intake)
  }

  remove(intake: Intake): void {
    if (this.#intakes.delete(intake)) this.#pool.add(intake.holder, -intake.heldBytes)
  }

  /** The connection's bytes belong to another holder. */
  move(intake: Intake, holder: string): void {
    if (!this.#intakes.has(intake)) return
    this.#pool.add(intake.holder, -intake.heldBytes)
    this.#pool.add(holder, intake.heldBytes)
  }

  /**
   * Selects the connections to cut after bytes from `holder` have come: the holder's own when it has more than its
   * part, then any when all have more than the budget.
   */
  takeExcess(holder: string): Intake[] {
    const excess: Intake[] = []
    if (this.#pool.refusal(holder, 0) === 'share') {
      const own = [...this.#intakes].filter((intake) => intake.holder === holder)
      // A single connection is limited by its message's own limit.
      if (own.length > 1) excess.push(...this.#take(own, () => this.#pool.held(holder), this.#pool.shareMax))
    }
    if (this.heldBytes > this.#bytesMax) excess.push(...this.#take(this.#intakes, () => this.heldBytes, this.#bytesMax))
    return excess
  }

  /**
   * Selects the connections to cut so that a group's connections hold less than a limit, and stops counting them. The
   * oldest come first, those waiting for the peer before those waiting for us. A connection that holds less than half
   * the mean is never cut, so small requests do not suffer from large ones. The others hold more than half of all
   * bytes, so one pass is enough.
   */
  #take(group: Iterable<Intake>, heldBytes: () => number, bytesMax: number): Intake[] {
    const intakes = [...group]
    const bytesLeft = bytesMax * SHARE_LEFT
    const bytesMin = heldBytes() / intakes.length / 2
    const excess: Intake[] = []
    for (const waitsForPeer of [true, false]) {
      for (const intake of intakes) {
        if (heldBytes() <= bytesLeft) return excess
        if (intake.heldBytes < bytesMin || intake.waitsForPeer !== waitsForPeer) continue
        this.remove(intake)
        excess.push(intake)
      }
    }
    return excess
  }
}

/** A head's size as clients write it, `NAME: VALUE` with one space. */
function headBytesOf({ method = '', url = '', rawHeaders }: IncomingMessage): number {
  let bytes = method.length + url.length + ' '.length + ' HTTP/1.1\r\n\r\n'.length
  for (const text of rawHeaders) bytes += text.length + 2
  return bytes
}

function endsClean(chunk: Buffer): boolean {
  const end = chunk.subarray(-HEAD_END.length)
  return end.equals(HEAD_END.subarray(-end.length))
}
