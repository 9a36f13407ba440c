/**
 * Which requests count as an upgrade: WebSocket ones, and CONNECT, behind which nothing is HTTP. A server with an `upgrade` listener is handed every request
 * that offers any upgrade, and a client that offers HTTP/2 in plain text (`h2c`, as Java's does with every first
 * request) would never reach its route; RFC 9110 section 7.8 lets a server ignore such an offer and answer normally.
 */
import { IncomingMessage } from 'node:http'

export class PlainUnlessWebSocket extends IncomingMessage {
  // The property that the server decides by. It is first set by the constructor of the base class, which is why what it
  // holds cannot be a private member.
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
 * Whether the connection of a request must end with its answer: behind an offer that was ignored the parser does not
 * read another request.
 */
export function endsConnection(request: IncomingMessage): boolean {
  return request.headers.upgrade !== undefined
}
