/**
 * The channel `publication` as finished WebSocket frames for relays (docs/how-to/feeding-your-own-book.md): the book
 * with the instrument state, or its changes together with the executions. Numbers have exactly the market's decimals.
 */
import { nanosecondText } from '../../platform/base/clock.ts'
import { ASK, BID, type Instrument, type LevelChange, type MarketDefinition } from '../market/event.ts'
import {
  type IdentifiedExecution,
  identifiedMembers,
  levelText,
  type Message,
  type MessageHead,
  reframed,
  textMessage,
} from './frame.ts'
import type { Replica } from './replica.ts'

/** A publication's `stream` member. */
export interface PublicationStream {
  readonly epoch: string
  readonly seq: number
  /** Number of the previous message. Undefined in the first. */
  readonly prev: number | undefined
  /** Position in the first publication of a chain. Undefined where this one is the first. */
  readonly origin?: string | undefined
}

/** What one UPDATE contains. */
export interface PublicationUpdate {
  readonly changes: readonly LevelChange[]
  readonly executions: readonly { readonly execution: IdentifiedExecution; readonly commitMilliseconds: number }[]
  /** The instrument state where it changed. Null = no longer known. */
  readonly instrument: Instrument | null | undefined
  /** Why executions before these were missed. Undefined when none were. */
  readonly missed: string | undefined
}

/** A SNAPSHOT. `head`: the head of the market_data SNAPSHOT with the same book. */
export function publicationSnapshot(
  market: MarketDefinition,
  head: MessageHead,
  instrument: Instrument | undefined,
  stream: PublicationStream,
): Message {
  const prefix = `{"channel":"publication","payload":{"instrument":${instrumentText(market, instrument)},`
  return reframed(head, prefix, tailText(stream))
}

export function publicationUpdate(replica: Replica, update: PublicationUpdate, stream: PublicationStream): Message {
  const { market } = replica
  const { changes, executions, instrument, missed } = update
  const texts = executions.map(
    ({ execution, commitMilliseconds }) => `{${identifiedMembers(market, execution, commitMilliseconds)}}`,
  )
  const members = [
    sideText('bids', market, changes, BID),
    sideText('asks', market, changes, ASK),
    texts.length === 0 ? '' : `"executions":[${texts.join()}]`,
    instrument === undefined ? '' : `"instrument":${instrumentText(market, instrument ?? undefined)}`,
    missed === undefined ? '' : `"missed":${JSON.stringify(missed)}`,
  ]
  return textMessage(publicationText(replica, 'UPDATE', members, stream))
}

export function publicationLost(replica: Replica, stream: PublicationStream): Message {
  return textMessage(publicationText(replica, 'LOST', [`"reason":${JSON.stringify(replica.reason)}`], stream))
}

function publicationText(
  { market, instant }: Replica,
  type: 'UPDATE' | 'LOST',
  members: readonly string[],
  stream: PublicationStream,
): string {
  const time = nanosecondText(instant.milliseconds, instant.nanoseconds)
  const payload = [`"market":"${market.symbol}","type":"${type}","time":"${time}"`, ...members].filter(Boolean)
  return `{"channel":"publication","payload":{${payload.join()}}${tailText(stream)}`
}

function tailText({ epoch, seq, prev, origin }: PublicationStream): string {
  const before = prev === undefined ? '' : `,"prev":${prev}`
  const first = origin === undefined ? '' : `,"origin":"${origin}"`
  return `,"stream":{"epoch":"${epoch}","seq":${seq}${before}${first}}}`
}

function sideText(
  name: 'bids' | 'asks',
  market: MarketDefinition,
  changes: readonly LevelChange[],
  side: LevelChange['side'],
): string {
  const levels = changes.filter((change) => change.side === side).map((change) => levelText(market, change))
  return levels.length === 0 ? '' : `"${name}":[${levels.join()}]`
}

function instrumentText(market: MarketDefinition, instrument: Instrument | undefined): string {
  const { priceDecimals, amountDecimals } = market
  return JSON.stringify({
    price_decimals: priceDecimals,
    amount_decimals: amountDecimals,
    // JSON.stringify leaves out undefined members.
    state: instrument?.state,
    reason: instrument?.reason ?? '',
    simulated: instrument?.simulated === true,
  })
}
