/**
 * How far a market's engine sources were followed in their publications (docs/how-to/feeding-your-own-book.md). The
 * process that writes the market sends these positions beside its commits, on their own subject. The market's next
 * writer asks the engine for the messages after them, so no execution is missed. Each market's newest positions are
 * kept and compared with the followed executions, so a lost, early or late message is harmless.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { ByteWriter } from './bus-bytes.ts'
import { BUS_FORMAT, decode } from './bus-codec.ts'

export interface SourcePositions {
  readonly market: string
  /** The positions were taken after this epoch and version, when the last execution or miss had this number. */
  readonly epoch: string
  readonly version: number
  readonly executionNumber: number
  /** Whether that version's book is the book at the position; always false with several sources. */
  readonly hasBook: boolean
  /**
   * `EPOCH.SEQ` by source, as the configuration names it. The source's executions up to there are published or missed.
   */
  readonly positions: readonly (readonly [source: string, position: string])[]
}

/** Positions kept per market, for commits that may arrive after their positions. */
const KEPT_MAX = 16

/** Positions are sent again after this time, for processes that started listening later. */
const REPEAT_MILLISECONDS = 1_000

function encodePositions(positions: SourcePositions): Buffer {
  const writer = new ByteWriter()
  writer.byte(BUS_FORMAT)
  writer.text(positions.market)
  writer.text(positions.epoch)
  writer.integer(positions.version)
  writer.integer(positions.executionNumber)
  writer.byte(positions.hasBook ? 1 : 0)
  writer.integer(positions.positions.length)
  for (const [source, position] of positions.positions) {
    writer.text(source)
    writer.text(position)
  }
  return writer.finish()
}

/** @throws {BusFormatError} */
export function decodePositions(bytes: Buffer): SourcePositions {
  return decode(bytes, (reader) => ({
    market: reader.text(),
    epoch: reader.text(),
    version: reader.integer(),
    executionNumber: reader.integer(),
    hasBook: reader.byte() === 1,
    positions: reader.list(() => [reader.text(), reader.text()] as const),
  }))
}

export class SourcePositionLog {
  readonly #clock: Clock
  /** Sends to the other processes; does nothing before there is a link. */
  #transport: (market: string, bytes: Buffer) => void = () => undefined
  /** By market, newest last. */
  readonly #kept = new Map<string, SourcePositions[]>()
  /** The last positions this process has sent, by market it writes. */
  readonly #sent = new Map<string, SourcePositions>()
  #timer: Timer

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timer = this.#schedule()
  }

  connect(transport: (market: string, bytes: Buffer) => void): void {
    this.#transport = transport
  }

  /** Sends a market's positions, and again each second until `end`. This process writes the market. */
  send(positions: SourcePositions): void {
    this.#sent.set(positions.market, positions)
    this.note(positions)
    this.#transport(positions.market, encodePositions(positions))
  }

  /**
   * Sends a market's last positions at once, for a process that has just begun to follow. This process writes the
   * market.
   */
  repeat(market: string): void {
    const positions = this.#sent.get(market)
    if (positions !== undefined) this.#transport(market, encodePositions(positions))
  }

  /** This process no longer writes the market. */
  end(market: string): void {
    this.#sent.delete(market)
  }

  /** Records the positions sent by the market's writer. */
  note(positions: SourcePositions): void {
    const { market, epoch, version } = positions
    const kept = this.#kept.get(market) ?? []
    const newest = kept.at(-1)
    if (newest !== undefined && epoch < newest.epoch) return
    const others = kept.filter((known) => known.epoch !== epoch || known.version !== version)
    this.#kept.set(market, [...others, positions].slice(-KEPT_MAX))
  }

  /** The positions for a market state: at its version, or at another version with the same executions. */
  at(state: Pick<SourcePositions, 'market' | 'epoch' | 'version' | 'executionNumber'>): SourcePositions | undefined {
    const { market, epoch, version, executionNumber } = state
    const known = (this.#kept.get(market) ?? []).filter(
      (positions) => positions.epoch === epoch && positions.executionNumber === executionNumber,
    )
    return known.find((positions) => positions.version === version) ?? known.at(-1)
  }

  stop(): void {
    this.#timer.cancel()
  }

  #schedule(): Timer {
    return this.#clock.schedule(REPEAT_MILLISECONDS, () => {
      this.#timer = this.#schedule()
      for (const [market, positions] of this.#sent) this.#transport(market, encodePositions(positions))
    })
  }
}
