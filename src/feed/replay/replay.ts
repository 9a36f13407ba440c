/**
 * Recordings as a source: a market that names `replay:FILE` is fed with what was recorded under its own symbol. Every
 * file is played once, for all markets that name it; a file that no market names any more is closed, and begins anew
 * when it is named again. It opens no connection.
 */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Source, SourceMarket } from '../source.ts'
import { Player } from './player.ts'

interface ReplayOptions {
  readonly markets: readonly SourceMarket[]
  /** How many times as fast as it was recorded. */
  readonly speed: number
  /** Where to begin: seconds after the first entry. */
  readonly fromSeconds: number
  /** Begin again at the end of a file. */
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
      // Whoever begins together hears all of it.
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
      // A recording holds books and trades alone.
      return undefined
    },
    notices(market) {
      return players.get(market.venueSymbol)?.notices() ?? []
    },
  }
}
