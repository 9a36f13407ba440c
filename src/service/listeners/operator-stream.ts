/**
 * The stream for the operator's web console: a WebSocket at the operator listener's `/admin/v1/stream`, with the
 * extended protocol and all markets, for every role. It is read only, as all streams are, and appears in no list, count
 * or limit of the customers' connections. Every other upgrade is refused. A stream is closed as soon as the session or
 * token that opened it is no longer valid: a timer waits for the next session to end by time, and announcements from
 * any node report all other ends. Each use on any node moves the end by time, so the timer only causes a look at the
 * store. Every few seconds there is also a look without a cause: announcements may not arrive, and the store may have
 * been unavailable at the last look.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { AccessToken } from '../../access/clients/access-token.ts'
import { BUILT_IN_OPERATOR, type CallingOperator } from '../../access/clients/operator-calls.ts'
import type { OperatorAuthentication } from '../../access/operators/authentication.ts'
import { ENDED_ACCESS_CHANNEL } from '../../access/operators/sessions.ts'
import { EXTENDED_SUBPROTOCOL } from '../../contract/channels.ts'
import { isMachineRole } from '../../contract/operator-calls.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { NO_HOLDER, SHARED_POOLS, SharedPool } from '../../platform/base/shared-pool.ts'
import { scheduleAt } from '../../platform/base/wall-timer.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import type { Upgrade } from '../../platform/http/connections.ts'
import type { HostCheck } from '../../platform/http/host-check.ts'
import { Problem } from '../../platform/http/problem.ts'
import { originForm, refuseHead } from '../../platform/http/request-head.ts'
import {
  answerRefusal,
  badHandshake,
  handshakeUnavailable,
  offeredSubprotocols,
  PendingHandshakes,
  refuseUpgrade,
} from '../../platform/http/websocket-handshake.ts'
import { type Db, StoreUnavailable } from '../../platform/store/db.ts'
import type { Hub } from '../../streaming/gateway/hub.ts'
import type { Session } from '../../streaming/gateway/session.ts'
import { SessionServer } from '../../streaming/gateway/session-server.ts'

export interface OperatorStreamOptions {
  readonly hub: Pick<Hub, 'openUncounted'>
  readonly clock: Clock
  readonly log: Log
  /** The setting `stream.inbound_bytes_max`. */
  readonly inboundBytesMax: number
}

interface OperatorStreamParts extends OperatorStreamOptions {
  /** Where ended sessions and tokens are announced. */
  readonly db: Pick<Db, 'listen'>
  readonly authentication: OperatorAuthentication
  readonly checkHost: HostCheck
  readonly clientAddress: ClientAddress
}

const PATH = '/admin/v1/stream'
const CHECK_MILLISECONDS = 5_000

interface OpenStream {
  readonly session: Session
  readonly request: IncomingMessage
  readonly operator: CallingOperator
}

export class OperatorStream {
  readonly #parts: OperatorStreamParts
  readonly #server: SessionServer
  readonly #pending = new PendingHandshakes()
  readonly #pool = new SharedPool(SHARED_POOLS.operator_streams.size)
  readonly #open = new Set<OpenStream>()
  #timer: Timer | undefined
  /** Waits for the first session to end by time. */
  #endTimer: Timer | undefined
  #unlisten: (() => Promise<void>) | undefined
  #isListening = false
  /** Set while streams are checked. True: something ended meanwhile. */
  #checking: boolean | undefined

  constructor(parts: OperatorStreamParts) {
    this.#parts = parts
    this.#server = new SessionServer({
      ...parts,
      hub: { open: (transport, token) => parts.hub.openUncounted(transport, token) },
    })
  }

  /** Handles an upgrade request to the listener. */
  readonly upgrade: Upgrade = (request, socket, head) => {
    const { clock, log } = this.#parts
    const noteError = () => undefined
    socket.on('error', noteError)
    const refuse = (problem: Problem) => answerRefusal(socket, problem, clock)
    this.#admit(request)
      .then((operator) => {
        if (socket.destroyed) return
        this.#start({ request, operator, socket: socket as Socket, head }, () => socket.off('error', noteError))
      })
      .catch((error) => {
        if (error instanceof Problem) return refuse(error)
        if (error instanceof StoreUnavailable) return refuse(handshakeUnavailable('the store cannot be reached'))
        log.error({ err: error }, 'an operator stream’s handshake failed')
        return refuse(new Problem('internal', 'an error on our side. Quote request_id'))
      })
  }

  /** Closes the streams. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#endTimer?.cancel()
    for (const { session } of this.#open) session.close('restarting')
    await this.#unlisten?.()
  }

  async #admit(request: IncomingMessage): Promise<CallingOperator> {
    const { authentication, checkHost, clientAddress } = this.#parts
    const refusal = refuseHead(request) ?? checkHost(request) ?? refuseHandshake(request)
    if (refusal !== undefined) throw refusal
    const address = clientAddress(request)
    const operator = await this.#pending.hold(request, clientAddress.holderOf(address), () =>
      authentication.authenticate(request, address, true),
    )
    if (operator instanceof Problem) throw operator
    if (isMachineRole(operator.role))
      throw new Problem('insufficient_role', `the role ${operator.role} has no stream`, {
        meta: { role: operator.role, needed: 'viewer' },
      })
    if (this.#pool.refusal(holderOf(operator)) !== undefined)
      throw handshakeUnavailable(`${this.#pool.total} operator streams are open`)
    return operator
  }

  #start(
    arrival: { request: IncomingMessage; operator: CallingOperator; socket: Socket; head: Buffer },
    onTaken: () => void,
  ): void {
    const { request, operator, socket, head } = arrival
    const clientAddress = this.#parts.clientAddress(request)
    const opened = this.#server.open({ token: tokenOf(operator), clientAddress, request, socket, head }, onTaken)
    if (opened === undefined) return
    const stream = { session: opened, request, operator }
    this.#open.add(stream)
    this.#pool.add(holderOf(operator), 1)
    socket.once('close', () => {
      this.#open.delete(stream)
      this.#pool.add(holderOf(operator), -1)
    })
    this.#timer ??= this.#schedule()
    // What opened it may have ended meanwhile.
    void this.#listen().then(() => this.#check())
  }

  /** From the first stream on. Without announcements, streams are closed seconds later. */
  async #listen(): Promise<void> {
    if (this.#isListening) return
    this.#isListening = true
    const { db, log } = this.#parts
    const check = () => void this.#check()
    try {
      this.#unlisten = await db.listen(ENDED_ACCESS_CHANNEL, { onNotify: check, onReconnect: check })
    } catch (error) {
      this.#isListening = false
      log.warn({ err: error }, 'operators’ ended sessions are not announced to their streams')
    }
  }

  #schedule(): Timer {
    return this.#parts.clock.schedule(CHECK_MILLISECONDS, () => {
      this.#timer = undefined
      void this.#check().finally(() => {
        if (this.#open.size > 0) this.#timer ??= this.#schedule()
      })
    })
  }

  async #check(): Promise<void> {
    if (this.#checking !== undefined) {
      this.#checking = true
      return
    }
    do {
      this.#checking = false
      await this.#closeEnded()
    } while (this.#checking)
    this.#checking = undefined
  }

  async #closeEnded(): Promise<void> {
    const { authentication, clock, log } = this.#parts
    let firstEnd = Number.POSITIVE_INFINITY
    for (const { session, request, operator } of this.#open) {
      try {
        const end = await authentication.validUntil(request, operator)
        if (end === undefined) session.close('revoked')
        else firstEnd = Math.min(firstEnd, end)
      } catch (error) {
        // It stays open while the store is unavailable, as customers' streams do.
        if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'an operator’s stream was not checked')
      }
    }
    this.#endTimer?.cancel()
    if (firstEnd < Number.POSITIVE_INFINITY) this.#endTimer = scheduleAt(clock, firstEnd, () => void this.#check())
  }
}

function refuseHandshake(request: IncomingMessage): Problem | undefined {
  if (originForm(request.url ?? '').split('?', 1)[0] !== PATH) {
    return new Problem('not_found', `this listener’s only WebSocket is at ${PATH}`)
  }
  const refusal = refuseUpgrade(request, 'the stream')
  if (refusal !== undefined) return refusal
  const names = offeredSubprotocols(request)
  if (names instanceof Problem) return names
  return names.includes(EXTENDED_SUBPROTOCOL)
    ? undefined
    : badHandshake(`Sec-WebSocket-Protocol must offer ${EXTENDED_SUBPROTOCOL}`)
}

/** Several people may use the single token, so it is no holder. */
function holderOf({ name }: CallingOperator): string {
  return name === BUILT_IN_OPERATOR ? NO_HOLDER : name
}

/** The session's identity in logs. It is in no directory. */
function tokenOf({ name }: CallingOperator): AccessToken {
  return {
    clientId: `operator:${name}`,
    customerId: 'operator',
    scopes: new Set(),
    tokenId: '',
    keyId: '',
    issuedAtSeconds: 0,
    // The operator's session ends it, whatever `stream.token_expiry` is.
    expiresAtMilliseconds: Number.MAX_SAFE_INTEGER,
  }
}
