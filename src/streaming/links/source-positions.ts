/**
 * How far the sources of a market were followed that are publications of engines (docs/how-to/feeding-your-own-book.md). The
 * process that writes the market sends it beside its commits, on a subject of its own, so that the next one to write it
 * asks the engine for the messages that follow and no execution is missed. The newest positions of each market are kept
 * and compared with the executions that were followed: a lost, early or late message is harmless.
 */
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { ByteWriter } from './bus-bytes.ts'
import { BUS_FORMAT, decode } from './bus-codec.ts'

export interface SourcePositions {
  readonly market: string
  /** The epoch and version after which they were taken, and the number of the last execution or miss then. */
  readonly epoch: string
  readonly version: number
  readonly executionNumber: number
  /** Whether the book of that version is the one at the position; always false with several sources. */
  readonly hasBook: boolean
  /** By source, as the configuration names it, `EPOCH.SEQ`: its executions up to there are published, or were missed. */
  readonly positions: readonly (readonly [source: string, position: string])[]
}

/** Positions kept per market: those of the commits that may arrive later than their positions. */
const KEPT_MAX = 16

/** Positions are sent again after this time, for processes that have begun to listen. */
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
  /** To the other processes; nothing before there is a link. */
  #transport: (market: string, bytes: Buffer) => void = () => undefined
  /** By market, the newest last. */
  readonly #kept = new Map<string, SourcePositions[]>()
  /** The last ones that this process has sent, of each market that it writes. */
  readonly #sent = new Map<string, SourcePositions>()
  #timer: Timer

  constructor(clock: Clock) {
    this.#clock = clock
    this.#timer = this.#schedule()
  }

  connect(transport: (market: string, bytes: Buffer) => void): void {
    this.#transport = transport
  }

  /** Sends the positions of a market that this process writes, and again each second until `end`. */
  send(positions: SourcePositions): void {
    this.#sent.set(positions.market, positions)
    this.note(positions)
    this.#transport(positions.market, encodePositions(positions))
  }

  /** Sends the last positions of a market that this process writes at once, for a process that has just begun to follow. */
  repeat(market: string): void {
    const positions = this.#sent.get(market)
    if (positions !== undefined) this.#transport(market, encodePositions(positions))
  }

  /** The market is not written by this process any more. */
  end(market: string): void {
    this.#sent.delete(market)
  }

  /** Notes what another process has sent. */
  note(positions: SourcePositions): void {
    const { market, epoch, version } = positions
    const kept = this.#kept.get(market) ?? []
    const newest = kept.at(-1)
    if (newest !== undefined && epoch < newest.epoch) return
    const others = kept.filter((known) => known.epoch !== epoch || known.version !== version)
    this.#kept.set(market, [...others, positions].slice(-KEPT_MAX))
  }

  /** Those of a state of the market: of its version, or of another one with the same executions. */
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
