/**
 * A subscriber to one market's book inside this process, for the self-audit. It has an outbox and a catch-up like any
 * base-protocol session, and gets the same frames. A session writes them to its socket. This subscriber decodes them
 * back into a book, without the server's encoding code and with a bounded number of levels per call. It can be held, as
 * if its socket did not drain, and then lags like any other subscriber. It is in no metric and in no session list.
 */
import { ClientUsage } from '../../access/metering/meter.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { parseDecimal, type Scaled } from '../../platform/base/decimal.ts'
import { Book } from '../market/book.ts'
import { ASK, BID, type LevelChange, type MarketDefinition, type Side } from '../market/event.ts'
import { levelsAfter } from '../market/view.ts'
import { BASE } from '../sequencing/frame.ts'
import { CatchUp } from './catch-up.ts'
import type { Hub } from './hub.ts'
import type { MarketStream } from './market-stream.ts'
import { Outbox, type OutboxOwner, type OutboxTransport } from './outbox.ts'
import type { ChannelState, LaggingParty, MarketSubscription, Subscriber } from './subscription.ts'

const HIGH_WATER_BYTES = 65_536
/** Undecoded bytes above which the subscriber has overflowed. A SNAPSHOT with 46,000 levels has 2 MB. */
const UNREAD_BYTES_MAX = 16_777_216

/** RFC 6455 section 5.2 header: the FIN bit, and the length-byte values that announce a longer length. */
const FIN = 0x80
const LENGTH_16_BITS = 126
const LENGTH_64_BITS = 127

/** A level, or where the asks begin. */
const ENTRY = /"asks":\[|\{"price":"([^"]*)","amount":"([^"]*)"\}/g

interface OpenMessage {
  readonly text: string
  /** Where decoding continues. */
  index: number
  side: Side
}

export class AuditSubscriber implements Subscriber, OutboxOwner, LaggingParty {
  readonly isClient = false
  readonly usage = new ClientUsage()
  readonly outbox: Outbox
  readonly #clock: Clock
  readonly #hub: Pick<Hub, 'queueCatchUp'>
  readonly #market: MarketStream
  readonly #catchUp: CatchUp
  #subscription: MarketSubscription | undefined
  #hasEnded = false
  #isHeld = false
  #onWritten: (() => void) | undefined
  /** Payloads for the incomplete message, and for complete messages not decoded yet. */
  #fragments: Buffer[] = []
  readonly #unread: Buffer[] = []
  #unreadBytes = 0
  #open: OpenMessage | undefined
  readonly #book = new Book()
  #problem: string | undefined

  constructor(clock: Clock, hub: Pick<Hub, 'queueCatchUp'>, market: MarketStream) {
    this.#clock = clock
    this.#hub = hub
    this.#market = market
    const totals = { messages: 0, bytes: 0, conflated: 0, lagging: 0 }
    const transport = this.#transport()
    this.outbox = new Outbox({ transport, highWaterBytes: HIGH_WATER_BYTES, gathers: true, totals, owner: this })
    this.#catchUp = new CatchUp(clock, this, BASE)
    this.#catchUp.subscribe(market, 'market_data')
  }

  /** Why a message was wrong. Undefined while none was. */
  get problem(): string | undefined {
    return this.#problem
  }

  get hasOverflowed(): boolean {
    return this.#unreadBytes > UNREAD_BYTES_MAX
  }

  /** Whether everything up to the replica's version was sent and decoded. */
  get isCurrent(): boolean {
    if (this.#unread.length > 0 || this.#open !== undefined || this.#subscription === undefined) return false
    this.#market.settle(this.#subscription)
    const { generation, delivered, states } = this.#subscription
    const { bit, place } = this.#market.channelOf('market_data')
    const state = states[place] as ChannelState
    const isUpToDate = generation === this.outbox.generation && state.position === this.#market.replica.version
    return isUpToDate && (delivered & bit) !== 0
  }

  /** Up to `countMax` levels on one side, from the first one worse than `price` (undefined: from the best). */
  levelsAfter(side: Side, price: number | undefined, countMax: number): LevelChange[] {
    return levelsAfter(this.#book, 0, side, price, countMax)
  }

  /** Decodes up to about `levelsMax` levels that are gathered or received. Returns how many. */
  read(levelsMax: number): number {
    this.outbox.flush()
    let count = 0
    while (count < levelsMax && this.#problem === undefined) {
      this.#open ??= this.#openNext()
      if (this.#open === undefined) break
      try {
        count += this.#readLevels(this.#open, levelsMax - count)
      } catch (error) {
        this.#problem = (error as Error).message
      }
    }
    return count
  }

  /** From now on the outbox does not drain. */
  hold(): void {
    this.#isHeld = true
  }

  /** Ends `hold`, as if everything in the outbox had drained. */
  release(): void {
    this.#isHeld = false
    this.#onWritten?.()
    this.#onWritten = undefined
  }

  end(): void {
    this.#hasEnded = true
    this.#catchUp.end()
    this.outbox.end()
  }

  owe(subscription: MarketSubscription): void {
    this.#subscription = subscription
    this.#catchUp.owe(subscription)
    this.#hub.queueCatchUp(this)
  }

  /**
   * Called by the hub at the end of a tick, after its fan-out. Earlier catch-up would send the tick's changes twice.
   */
  catchUp(untilMilliseconds: number): boolean {
    if (this.#hasEnded) return false
    try {
      return this.#catchUp.run(untilMilliseconds) === 'more'
    } catch (error) {
      this.#problem ??= `catch-up failed: ${(error as Error).message}`
      return false
    }
  }

  onBlocked(): void {
    // Nothing to pause: it sends no requests.
  }

  onUnblocked(): void {
    this.#hub.queueCatchUp(this)
  }

  #transport(): OutboxTransport {
    const isHeld = () => this.#isHeld
    return {
      get queuedBytes() {
        return isHeld() ? HIGH_WATER_BYTES + 1 : 0
      },
      write: (frames, onWritten) => {
        this.#receive(frames)
        if (onWritten === undefined) return
        if (this.#isHeld) this.#onWritten = onWritten
        else this.#clock.endOfTick(onWritten)
      },
    }
  }

  #receive(bytes: Buffer): void {
    for (let start = 0; start < bytes.length; ) {
      const length = bytes.readUInt8(start + 1)
      const header = length < LENGTH_16_BITS ? 2 : length === LENGTH_16_BITS ? 4 : 10
      let end = start + header + length
      if (length === LENGTH_16_BITS) end = start + header + bytes.readUInt16BE(start + 2)
      if (length === LENGTH_64_BITS) end = start + header + Number(bytes.readBigUInt64BE(start + 2))
      this.#fragments.push(bytes.subarray(start + header, end))
      this.#unreadBytes += end - start - header
      if ((bytes.readUInt8(start) & FIN) !== 0) {
        this.#unread.push(
          this.#fragments.length === 1 ? (this.#fragments[0] as Buffer) : Buffer.concat(this.#fragments),
        )
        this.#fragments = []
      }
      start = end
    }
  }

  #openNext(): OpenMessage | undefined {
    const payload = this.#unread.shift()
    if (payload === undefined) return undefined
    const text = payload.toString('latin1')
    this.#unreadBytes -= payload.length
    const { symbol } = this.#market.replica.market
    const head = /^\{"channel":"market_data","payload":\{"market":"([^"]+)","type":"(SNAPSHOT|UPDATE)"/.exec(text)
    if (head?.[1] !== symbol) this.#problem ??= `a message begins with ${text.slice(0, 80)}`
    if (head?.[2] === 'SNAPSHOT') this.#book.replace([])
    return { text, index: head?.[0].length ?? text.length, side: BID }
  }

  #readLevels(message: OpenMessage, levelsMax: number): number {
    const changes: LevelChange[] = []
    ENTRY.lastIndex = message.index
    while (changes.length < levelsMax) {
      const entry = ENTRY.exec(message.text)
      if (entry === null) {
        this.#open = undefined
        break
      }
      message.index = ENTRY.lastIndex
      if (entry[1] === undefined) message.side = ASK
      else changes.push(levelOf(this.#market.replica.market, message.side, entry[1], entry[2] as string))
    }
    if (this.#book.apply(changes).length < changes.length) {
      this.#problem ??= 'an UPDATE has a level its subscribers hold already'
    }
    return changes.length
  }
}

function levelOf(market: MarketDefinition, side: Side, price: string, amount: string): LevelChange {
  return {
    side,
    price: Number(scaledOf(price, market.priceDecimals)),
    amount: scaledOf(amount, market.amountDecimals),
  }
}

function scaledOf(text: string, decimals: number): Scaled {
  const value = parseDecimal(text, decimals)
  if (typeof value === 'string') throw new Error(`a message has the number ${text}: ${value}`)
  return value
}
