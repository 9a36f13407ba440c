/**
 * Asks a service now and then, by `GET /v2/markets`, whether the data of one market is current and since when: the base
 * protocol of the stream does not say. It promises one request at a time, and silence about what goes wrong: a service
 * that does not serve the operation is never asked again, and without an answer nothing is known. It never ends a watch.
 */

import type { Clock, Timer } from '../base/clock.ts'
import { isObject } from '../base/json-value.ts'

/** What the service reports of the market. */
export interface ServedState {
  readonly state: 'LIVE' | 'STALE' | 'STARTING'
  /** As the service writes it. */
  readonly since: string
  /** The same on our monotonic clock, by the age that the service's own clock gives it. */
  readonly sinceMilliseconds: number
}

export interface MarketStateOptions {
  /** Base address of the REST API, without a trailing slash. */
  readonly url: string
  readonly market: string
  readonly clock: Clock
  /** The token to ask with; undefined while there is none. */
  readonly accessToken: () => string | undefined
  /** Undefined when nothing is known any more. */
  readonly onState: (state: ServedState | undefined) => void
}

const PERIOD_MILLISECONDS = 2_000
const ANSWER_MILLISECONDS_MAX = 5_000
const STATES: readonly unknown[] = ['LIVE', 'STALE', 'STARTING']

/** Asks at once and then every two seconds; the returned function ends it. */
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
    // Unreachable, or no JSON: the stream says what is wrong with the service.
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
