/** A stream client's options and their checks. */
import { ClientCredentials, type Credentials, type TokenSource } from '../credentials.ts'
import { TidegateError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import type { ConnectionLost } from './connection.ts'

/** The scope required by the stream. */
const STREAM_SCOPE = 'exchange:read_aggregated_marketdata_stream'

/** The scopes required by the channel `events`. */
export const EVENT_SCOPES = [STREAM_SCOPE, 'events:read_event']

/** Connection events. The client reacts by itself: these are for logs and displays. */
export type StreamEvent =
  | { readonly type: 'CONNECTED'; readonly url: string; readonly protocol: 'tidegate.v1' | 'tidegate.default' }
  /** The connection ended or could not be opened. It will be opened again after the delay. */
  | ({ readonly type: 'DISCONNECTED' } & ConnectionLost)
  /** A subscription is begun again on the same connection. */
  | { readonly type: 'RESYNC'; readonly market: string; readonly channel: string; readonly reason: string }

/** The service to connect to. */
export type StreamService =
  /** The service and the client named by a credentials file. */
  | { readonly credentials: Credentials }
  /** An address (`wss://…`) with your own tokens. `none` sends no token: for a page whose cookies authenticate it. */
  | { readonly url: string; readonly authenticate: TokenSource | 'none' }

export type StreamOptions = StreamService & {
  readonly onEvent?: (event: StreamEvent) => void
  /** Called with each heartbeat's time on the service's clock: RFC 3339 with nanoseconds. */
  readonly onHeartbeat?: (time: string) => void
}

/** The longest permitted symbol has 64 characters. A limit keeps requests within their size. */
export function checkMarket(market: string): void {
  if (typeof market === 'string' && /^[!-~]{1,64}$/.test(market)) return
  throw new TidegateError('INVALID_ARGUMENT', `the market is ${JSON.stringify(market)}: pass a symbol such as BTCUSD`)
}

export function checkWhole(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isInteger(value) && value > 0)) return
  throw new TidegateError('INVALID_ARGUMENT', `the ${name} is ${value}: it must be a whole number above 0`)
}

export function checkBoolean(name: string, value: boolean | undefined): void {
  if (value === undefined || typeof value === 'boolean') return
  throw new TidegateError('INVALID_ARGUMENT', `the ${name} is ${value}: it must be true or false`)
}

export function serviceOf(
  options: StreamOptions,
  platform: Platform,
  scopes: readonly string[] = [STREAM_SCOPE],
): { url: string; tokens: TokenSource | undefined } {
  if (!('credentials' in options)) {
    const { url, authenticate } = options
    return { url: checked(url), tokens: authenticate === 'none' ? undefined : authenticate }
  }
  const { credentials } = options
  const tokens = new ClientCredentials(credentials, scopes, platform)
  return { url: `${checked(credentials.ws_url)}/`, tokens }
}

function checked(url: string): string {
  if (/^wss?:/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new TidegateError(
    'INVALID_ARGUMENT',
    `the address of the stream is '${url}': it must begin with wss:// or ws://`,
  )
}
