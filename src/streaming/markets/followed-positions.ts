/**
 * Publication positions for the next process that writes a market. It sends how far publications were followed after
 * each commit, and returns where a source continues after another process. It makes no decisions about books: a source
 * is given a book only where its position proves that it follows the source's last message.
 */
import type { SourcePositionLog, SourcePositions } from '../links/source-positions.ts'
import { sourceText } from '../market/configured-market.ts'
import type { Bus, MarketMessage, MarketState } from '../sequencing/bus.ts'
import type { FollowedPublication } from '../sources/source.ts'
import type { MarketInput, MarketInputs } from './market-inputs.ts'

/** Sends the positions for a market written by this process, until the returned function is called. */
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
      // The last commit's book is live now, or was found to be wrong. Later positions belong to the next commit.
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
 * Where an input's publication continues; undefined where not known.
 * @param state the market's state as followed
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
  // An engine's book has the engine's own epoch.
  const isRelayed = origin !== undefined && !origin.startsWith(`${epoch}.`)
  return {
    epoch,
    seq,
    ...(hasBook ? { levels } : {}),
    ...(hasBook && isRelayed ? { origin } : {}),
    ...(instrument === undefined ? {} : { instrument: { ...instrument, reason: ownReason(instrument.reason, name) } }),
  }
}

/** An instrument's reason without its source's name, which `MarketWriters` adds in front. */
function ownReason(reason: string, source: string): string {
  return reason.startsWith(`${source}: `) ? reason.slice(source.length + 2) : reason
}
