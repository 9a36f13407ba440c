/** A connection as the operator API shows it: in a list, and in detail with its position in each market. */
import type { Static } from 'typebox'
import { millisecondText } from '../../platform/base/clock.ts'
import type { SentMarket } from './market-stream.ts'
import type { Connection, ConnectionDetails as Details } from './operator-answers.ts'
import type { ChannelKey } from './protocol.ts'
import type { Session } from './session.ts'

export type ConnectionDocument = Static<typeof Connection>
export type ConnectionDetails = Static<typeof Details>
type SubscribedMarket = ConnectionDetails['markets'][number]

/** The serving process's document about a connection, without the name of its node. */
export type SessionDocument = Omit<ConnectionDocument, 'node'>
export type SessionDetails = Omit<ConnectionDetails, 'node'>

/** Markets in one document: about 200 kB, which one answer between nodes can carry. */
const MARKETS_MAX = 500

export function sessionDocument(session: Session): SessionDocument {
  const { clientAddress, subprotocol, bytesWritten } = session.transport
  const { pongAgeMilliseconds, roundTripMilliseconds } = session
  return {
    id: session.id,
    client_id: session.token.clientId,
    customer_id: session.token.customerId,
    client_address: clientAddress,
    ...(subprotocol === '' ? {} : { subprotocol }),
    created_at: millisecondText(session.createdMilliseconds),
    subscriptions: session.subscriptionCount,
    behind: session.isLagging,
    reading: session.isPeerReading,
    ...(pongAgeMilliseconds === undefined ? {} : { pong_age_ms: Math.round(pongAgeMilliseconds) }),
    ...(roundTripMilliseconds === undefined ? {} : { round_trip_ms: Math.round(roundTripMilliseconds) }),
    queued_bytes: session.queuedBytes,
    bytes_out: bytesWritten,
    conflated_messages: session.outbox.conflated,
  }
}

export function sessionDetails(session: Session): SessionDetails {
  const channels = [...session.requests.channels]
  const byMarket = new Map<string, ChannelKey[]>()
  for (const channel of channels) {
    const others = byMarket.get(channel.market)
    if (others === undefined) byMarket.set(channel.market, [channel])
    else others.push(channel)
  }
  const markets = session.sentMarkets
  return {
    ...sessionDocument(session),
    heartbeat: channels.some(({ type }) => type === 'heartbeat'),
    market_count: markets.length,
    markets: markets.slice(0, MARKETS_MAX).map((sent) => marketDocument(sent, byMarket.get(sent.market) ?? [])),
  }
}

function marketDocument(sent: SentMarket, channels: readonly ChannelKey[]): SubscribedMarket {
  const { market, isLagging, version, currentVersion, digest } = sent
  return {
    market,
    channels: channels.map(({ type, depth, intervalMilliseconds, attribution }) => ({
      type,
      ...(depth === undefined ? {} : { depth }),
      ...(intervalMilliseconds === undefined ? {} : { interval_ms: intervalMilliseconds }),
      ...(attribution === true ? { attribution } : {}),
    })),
    behind: isLagging,
    ...(version === undefined ? {} : { version }),
    current_version: currentVersion,
    ...(digest === undefined
      ? {}
      : {
          last_digest: {
            digest: digest.digest,
            cursor: digest.cursor,
            sent_at: millisecondText(digest.sentMilliseconds),
          },
        }),
  }
}
