/**
 * A market's states and the transitions between them, as the sequencer follows them. A commit leads from a state with
 * `goesLive` to `live`, and from `lost` to `withdrawn` when the withdrawal is due. `stop` leads to `stopped`.
 */

/** A market state. `goesLive`: the next commit publishes a snapshot's book and makes the market live. */
interface Phase {
  readonly onSnapshot: PhaseName
  readonly onLost: PhaseName
  /** Whether the book may be committed and takes updates. */
  readonly isTrusted: boolean
  readonly goesLive: boolean
}

export type PhaseName =
  | 'starting'
  | 'opening'
  | 'live'
  | 'replacing'
  | 'lost'
  | 'recovering'
  | 'withdrawn'
  | 'reopening'
  | 'stopped'

/**
 * The states by the subscribers' book: none (`starting`), the current book (`live`), a stale market's last book
 * (`lost`), an empty book in its place (`withdrawn`). Each of them has a second state while a snapshot waits for its
 * commit.
 */
export const PHASES: Readonly<Record<PhaseName, Phase>> = {
  starting: { onSnapshot: 'opening', onLost: 'starting', isTrusted: false, goesLive: false },
  opening: { onSnapshot: 'opening', onLost: 'starting', isTrusted: true, goesLive: true },
  live: { onSnapshot: 'replacing', onLost: 'lost', isTrusted: true, goesLive: false },
  replacing: { onSnapshot: 'replacing', onLost: 'lost', isTrusted: true, goesLive: true },
  lost: { onSnapshot: 'recovering', onLost: 'lost', isTrusted: false, goesLive: false },
  recovering: { onSnapshot: 'recovering', onLost: 'lost', isTrusted: true, goesLive: true },
  withdrawn: { onSnapshot: 'reopening', onLost: 'withdrawn', isTrusted: false, goesLive: false },
  reopening: { onSnapshot: 'reopening', onLost: 'withdrawn', isTrusted: true, goesLive: true },
  stopped: { onSnapshot: 'stopped', onLost: 'stopped', isTrusted: false, goesLive: false },
}
