/**
 * One market's state and its time, from `GET /v2/markets`: the stream alone does not contain why there is no book, or
 * since when. Errors are ignored, because the stream reports the service's own: without an answer the state is unknown.
 */
import type { RestClient } from '../../../packages/client/src/index.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { pause } from '../../platform/base/time-limit.ts'

/** The market state as the service reports it. */
export interface ServedState {
  readonly state: 'LIVE' | 'STALE' | 'STARTING'
  /** As sent by the service. */
  readonly since: string
}

export interface MarketStateOptions {
  readonly rest: Pick<RestClient, 'get'>
  readonly market: string
  readonly clock: Clock
  /** Whether the state is needed now. */
  readonly isNeeded: () => boolean
  /** Called with undefined when the state is not known. */
  readonly onState: (state: ServedState | undefined) => void
}

const PERIOD_MILLISECONDS = 1_000
const STATES: readonly unknown[] = ['LIVE', 'STALE', 'STARTING']

/** Asks once per second while the state is needed, one request at a time, until the signal is aborted. */
export async function followMarketState(options: MarketStateOptions, signal: AbortSignal): Promise<void> {
  const { clock, isNeeded, onState } = options
  while (!signal.aborted) {
    await pause(clock, PERIOD_MILLISECONDS, signal)
    if (signal.aborted || !isNeeded()) continue
    const state = await servedState(options, signal)
    if (!signal.aborted && isNeeded()) onState(state)
  }
}

async function servedState(
  { rest, market }: MarketStateOptions,
  signal: AbortSignal,
): Promise<ServedState | undefined> {
  try {
    const { items } = await rest.get('/v2/markets', { signal })
    const item = items.find((each) => each.market === market)
    if (item === undefined || !STATES.includes(item.state) || Number.isNaN(Date.parse(item.state_since)))
      return undefined
    return { state: item.state, since: item.state_since }
  } catch {
    return undefined
  }
}
