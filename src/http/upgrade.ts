/**
 * Which requests are treated as upgrades: WebSocket handshakes, and CONNECT, after which the connection is no longer HTTP.
 * Node passes every request that offers any upgrade to an `upgrade` listener, so a client that offers HTTP/2 in plain text
 * (`h2c`, as Java's does with its first request) would never reach its route; RFC 9110 section 7.8 allows a server to
 * ignore the offer and answer normally.
 */
import { IncomingMessage } from 'node:http'

export class PlainUnlessWebSocket extends IncomingMessage {
  // The value that Node's parser sets. The constructor of the base class sets it first, before a private member of this
  // class would exist.
  declare _offersUpgrade: boolean | null

  get upgrade(): boolean {
    if (this._offersUpgrade !== true) return false
    return this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket'
  }

  set upgrade(offersUpgrade: boolean | null) {
    this._offersUpgrade = offersUpgrade
  }
}

/**
 * Whether the connection of a request must end with its answer: after an ignored offer, the parser reads no further
 * request.
 */
export function endsConnection(request: IncomingMessage): boolean {
  return request.headers.upgrade !== undefined
}
