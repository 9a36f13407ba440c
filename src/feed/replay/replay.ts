/**
 * Recordings as a source: a market that names `replay:FILE` is fed with the entries recorded under its symbol. Every
 * file is played once for all markets that name it. A file that no market names any more is closed, and starts over
 * when it is named again. It opens no connection.
 */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Source, SourceMarket } from '../source.ts'
import { Player } from './player.ts'

interface ReplayOptions {
  readonly markets: readonly SourceMarket[]
  /** Factor of the recorded speed. */
  readonly speed: number
  /** First entry to play, in seconds after the first recorded one. */
  readonly fromSeconds: number
  /** Start over at the end of a file. */
  readonly loops: boolean
  readonly clock: Clock
  readonly log: Log
}

export function createReplay({ markets, speed, fromSeconds, loops, clock, log }: ReplayOptions): Source {
  const players = new Map<string, Player>()
  const ending = new Set<Promise<void>>()
  const play = (path: string, fed: readonly SourceMarket[]): void => {
    const options = { path, speed, fromMilliseconds: Math.round(fromSeconds * 1_000), loops, clock, log }
    players.set(path, new Player(options, fed))
  }
  return {
    start() {
      const paths = new Set(markets.map(({ venueSymbol }) => venueSymbol))
      // Markets that start together receive the whole recording.
      for (const path of paths)
        play(
          path,
          markets.filter(({ venueSymbol }) => venueSymbol === path),
        )
    },
    add(market) {
      const player = players.get(market.venueSymbol)
      if (player === undefined) play(market.venueSymbol, [market])
      else player.add(market)
    },
    remove(market) {
      const player = players.get(market.venueSymbol)
      player?.remove(market)
      if (player === undefined || !player.isIdle) return
      players.delete(market.venueSymbol)
      const end = player.stop().finally(() => ending.delete(end))
      ending.add(end)
    },
    async stop() {
      await Promise.all([...ending, ...[...players.values()].map((player) => player.stop())])
    },
    rebuild(market) {
      players.get(market.venueSymbol)?.rebuild(market)
    },
    instrument() {
      // A recording contains only books and trades.
      return undefined
    },
    notices(market) {
      return players.get(market.venueSymbol)?.notices() ?? []
    },
  }
}
