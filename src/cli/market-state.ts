/**
 * Polls `GET /v2/markets` for the state of one market and its time, which the base protocol of the stream does not contain.
 * One request at a time. Errors are ignored: a service without the operation is not polled again, and without an answer the
 * state is unknown. It never ends a watch.
 */

import type { Clock, Timer } from '../base/clock.ts'
import { isObject } from '../base/json-value.ts'

/** The state of the market as the service reports it. */
export interface ServedState {
  readonly state: 'LIVE' | 'STALE' | 'STARTING'
  /** As sent by the service. */
  readonly since: string
  /** The same on our monotonic clock, computed from its age by the service's clock. */
  readonly sinceMilliseconds: number
}

export interface MarketStateOptions {
  /** Base address of the REST API, without a trailing slash. */
  readonly url: string
  readonly market: string
  readonly clock: Clock
  /** The current access token; undefined while there is none. */
  readonly accessToken: () => string | undefined
  /** Called with undefined when the state is no longer known. */
  readonly onState: (state: ServedState | undefined) => void
}

const PERIOD_MILLISECONDS = 2_000
const ANSWER_MILLISECONDS_MAX = 5_000
const STATES: readonly unknown[] = ['LIVE', 'STALE', 'STARTING']

/** Polls at once and then every two seconds; the returned function stops it. */
export function watchMarketState(options: MarketStateOptions): () => void {
  const { clock, onState } = options
  const stopping = new AbortController()
  let timer: Timer | undefined
  const ask = async (): Promise<void> => {
    const answer = await request(options, stopping.signal)
    if (stopping.signal.aborted || answer === 'not-served') return
    onState(answer)
    timer = clock.schedule(PERIOD_MILLISECONDS, () => void ask())
  }
  void ask()
  return () => {
    stopping.abort()
    timer?.cancel()
  }
}

async function request(
  { url, market, clock, accessToken }: MarketStateOptions,
  stop: AbortSignal,
): Promise<ServedState | 'not-served' | undefined> {
  const token = accessToken()
  if (token === undefined) return undefined
  try {
    const response = await fetch(`${url}/v2/markets`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.any([stop, AbortSignal.timeout(ANSWER_MILLISECONDS_MAX)]),
    })
    const body: unknown = await response.json()
    if (response.status === 404 || response.status === 405) return 'not-served'
    return servedState(body, market, Date.parse(response.headers.get('date') ?? ''), clock)
  } catch {
    // Unreachable, or not JSON: errors of the service are reported by the stream connection.
    return undefined
  }
}

/** `nowMilliseconds`: the time of the answer by the service's clock. */
function servedState(body: unknown, market: string, nowMilliseconds: number, clock: Clock): ServedState | undefined {
  const items = isObject(body) && Array.isArray(body.items) ? body.items.filter(isObject) : []
  const item = items.find((each) => each.market === market)
  if (item === undefined || !STATES.includes(item.state) || typeof item.state_since !== 'string') return undefined
  const age = Math.max(0, nowMilliseconds - Date.parse(item.state_since)) || 0
  const state = item.state as ServedState['state']
  return { state, since: item.state_since, sinceMilliseconds: clock.monotonicMilliseconds() - age }
}
