/**
 * What the next process that writes a market needs to know of its publications: sends how far they were followed after
 * each commit, and says where a source continues that another process has read before. It decides nothing about books: a
 * source is given one only where its position proves that it is the one after its last message.
 */
import type { SourcePositionLog, SourcePositions } from '../links/source-positions.ts'
import { sourceText } from '../market/configured-market.ts'
import type { Bus, MarketMessage, MarketState } from '../sequencing/bus.ts'
import type { FollowedPublication } from '../sources/source.ts'
import type { MarketInput, MarketInputs } from './market-inputs.ts'

/** Sends the positions of a market that this process writes, until the returned function is called. */
export function sendPositions(
  bus: Bus,
  symbol: string,
  inputs: Pick<MarketInputs, 'positions' | 'isBookFollowed'>,
  log: SourcePositionLog,
): () => void {
  let isLive = false
  let last: SourcePositions | undefined
  const send = (positions: SourcePositions): void => {
    last = positions
    log.send(positions)
  }
  const end = bus.subscribe(symbol, (message: MarketMessage) => {
    if (message.type === 'commit') {
      const { market, epoch, version, executionNumber } = message
      const { positions, isBookFollowed } = inputs
      if (positions.length === 0) return
      send({ market, epoch, version, executionNumber, positions, hasBook: isLive && isBookFollowed })
    } else if (message.type === 'status') {
      isLive = message.live
      // The book of the last commit is live now, or was found to be wrong. Later positions are those of the next commit.
      const hasBook = inputs.isBookFollowed && (isLive || last?.hasBook === true)
      if (last !== undefined && hasBook !== last.hasBook) send({ ...last, hasBook })
    }
  })
  return () => {
    end()
    log.end(symbol)
  }
}

/**
 * Where the publication of an input continues; undefined where that is not known.
 * @param state of the market as it was followed
 * @param isOnly whether the market has no other source
 */
export function followedPublication(
  { source }: MarketInput,
  isOnly: boolean,
  state: MarketState,
  log: SourcePositionLog,
): FollowedPublication | undefined {
  const known = log.at(state)
  const name = sourceText(source)
  const [, position] = known?.positions.find(([other]) => other === name) ?? []
  if (known === undefined || position === undefined) return undefined
  const dot = position.lastIndexOf('.')
  const [epoch, seq] = [position.slice(0, dot), Number(position.slice(dot + 1))]
  if (!isOnly) return { epoch, seq }
  const { origin, instrument, levels } = state
  const hasBook = known.hasBook && known.version === state.version && state.hasBook && !state.isWithdrawn
  // The book of an engine is of the engine's own epoch.
  const isRelayed = origin !== undefined && !origin.startsWith(`${epoch}.`)
  return {
    epoch,
    seq,
    ...(hasBook ? { levels } : {}),
    ...(hasBook && isRelayed ? { origin } : {}),
    ...(instrument === undefined ? {} : { instrument: { ...instrument, reason: ownReason(instrument.reason, name) } }),
  }
}

/** The reason of an instrument without the name of its source, which `MarketWriters` puts before it. */
function ownReason(reason: string, source: string): string {
  return reason.startsWith(`${source}: `) ? reason.slice(source.length + 2) : reason
}
