/**
 * The common parts for every listener with WebSocket handshakes: the checks on the request besides path, subprotocol
 * and token, the limit on handshakes whose token is being verified, and the answer that refuses one.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import { SHARED_POOLS, SharedPool } from '../base/shared-pool.ts'
import { Problem, problemResponse } from './problem.ts'

/**
 * The problem with a request that is not an RFC 6455 handshake.
 * @param name what the path serves, for the problem's detail: `the stream`
 */
export function refuseUpgrade({ headers, method }: IncomingMessage, name: string): Problem | undefined {
  const wanted = { headers: { Upgrade: 'websocket', 'Sec-WebSocket-Version': '13' } }
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    return new Problem('upgrade_required', `${name} is a WebSocket`, wanted)
  }
  if (headers['sec-websocket-version'] !== '13') {
    return new Problem('upgrade_required', 'Sec-WebSocket-Version must be 13', wanted)
  }
  if (method !== 'GET') return badHandshake('the handshake must be a GET request')
  // RFC 6455 section 4.2.1: 16 bytes in base64.
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    return badHandshake('Sec-WebSocket-Key must be 16 bytes in base64')
  }
  return undefined
}

/**
 * Clients offer one or two. Without a limit, a head full of names takes tens of milliseconds, before any token is
 * checked.
 */
const SUBPROTOCOLS_MAX = 16

/** The subprotocols offered by a handshake, or the header's problem. */
export function offeredSubprotocols({ headers }: IncomingMessage): readonly string[] | Problem {
  const header = headers['sec-websocket-protocol']
  if (header === undefined) return []
  if (header.split(',', SUBPROTOCOLS_MAX + 1).length > SUBPROTOCOLS_MAX) {
    return badHandshake(`Sec-WebSocket-Protocol must not list more than ${SUBPROTOCOLS_MAX} names`)
  }
  const names = header.split(',').map((name) => name.trim())
  if (names.some((name) => !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) || new Set(names).size < names.length) {
    return badHandshake('Sec-WebSocket-Protocol must list different names')
  }
  return names
}

export function badHandshake(detail: string): Problem {
  return new Problem('bad_handshake', detail)
}

/** Seconds after which a client may retry when it met a limit or the node was not ready. */
export const HANDSHAKE_RETRY_SECONDS = 5

/** This node cannot take the connection now. Another one, or this one later, may. */
export function handshakeUnavailable(detail: string): Problem {
  return new Problem('unavailable', detail, { headers: { 'Retry-After': String(HANDSHAKE_RETRY_SECONDS) } })
}

/** Where a handshake comes from. */
export interface HandshakePeer {
  readonly address: string
  /** As what the address holds shared pools. */
  readonly holder: string
}

/** Its memory besides its headers: the socket, the request, and the peer's bytes meanwhile. */
const HANDSHAKE_BYTES = 16_384

export class PendingHandshakes {
  readonly #pool = new SharedPool(SHARED_POOLS.pending_handshakes.size)

  /** Runs a handshake check, unless all checks, or its holder's, use as much memory as they may. */
  async hold<Result>(
    { rawHeaders }: IncomingMessage,
    holder: string,
    check: () => Promise<Result>,
  ): Promise<Result | Problem> {
    const bytes = rawHeaders.reduce((sum, text) => sum + text.length, HANDSHAKE_BYTES)
    if (this.#pool.take(holder, bytes) !== undefined)
      return handshakeUnavailable('too many handshakes are being checked')
    try {
      return await check()
    } finally {
      this.#pool.add(holder, -bytes)
    }
  }
}

/** Time to write a refusal, which may be queued after responses that the peer does not read. */
const REFUSAL_MILLISECONDS_MAX = 5_000

/** Answers a handshake with an HTTP error on the bare socket, which is destroyed when it is written or out of time. */
export function answerRefusal(socket: Duplex, refusal: Problem, clock: Clock): void {
  if (socket.destroyed) return
  const cut = clock.schedule(REFUSAL_MILLISECONDS_MAX, () => socket.destroy())
  socket.once('close', () => cut.cancel())
  socket.once('finish', () => socket.destroy())
  socket.end(problemResponse(refusal, newId(), socket))
}
