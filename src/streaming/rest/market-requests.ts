/** What all requests for a market's data have in common: who may ask, for which market, and how parameters are read. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Directory } from '../../access/clients/directory.ts'
import { callerOf } from '../../access/clients/guard.ts'
import { planRefusal } from '../../access/clients/plans/plan.ts'
import type { ChannelType } from '../../contract/channels.ts'
import { LIMIT_DEFAULT, LIMIT_RULE, limitOf } from '../../platform/http/list-limit.ts'
import { nameIgnored } from '../../platform/http/list-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { QueryFaults, queryValues } from '../../platform/http/query-values.ts'
import type { Hub } from '../gateway/hub.ts'
import type { MarketStream } from '../gateway/market-stream.ts'

export interface MarketRequestOptions {
  readonly directory: Directory
  readonly hub: Pick<Hub, 'market' | 'marketList'>
  /** Whether this process has the role `gateway`: others answer 503 and name it. */
  readonly isGateway: boolean
}

const RETRY_AFTER = { headers: { 'retry-after': '1' } }

type ByMarket = FastifyRequest<{ Params: { readonly market: string } }>

/** Each parameter's only value. Other names are ignored, and named in a header. */
export function readQuery<Name extends string>(
  { url }: FastifyRequest,
  reply: FastifyReply,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const faults = new QueryFaults()
  const values = queryValues(url, faults)
  const read: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const [value, ...more] = values.take(name)
    if (more.length > 0) faults.add(name, 'must not be repeated')
    if (value !== undefined) read[name] = value
  }
  faults.throwIfAny()
  nameIgnored(reply, values.left())
  return read
}

/** Checked before the parameters, like a scope. */
export function requireAllowed(request: FastifyRequest, { directory, isGateway }: MarketRequestOptions): void {
  const { customerId } = callerOf(request)
  if (directory.customer(customerId)?.streaming !== true) {
    throw new Problem('not_allowed', 'the customer is not on the streaming allow list')
  }
  if (!isGateway) {
    const detail = 'this process does not serve the call: one with the role gateway does'
    throw new Problem('role_missing', detail, { meta: { roles: ['gateway'] } })
  }
}

/** The market in the path, which this process follows from now on. The caller's plans include the channels. */
export function wantedMarket(
  request: FastifyRequest,
  channels: readonly ChannelType[],
  { hub }: MarketRequestOptions,
): MarketStream {
  const { market: symbol } = (request as ByMarket).params
  const { plans } = callerOf(request)
  for (const type of channels) {
    const refusal = planRefusal(plans, type, symbol)
    if (refusal !== undefined) throw new Problem('not_allowed', refusal)
  }
  const market = hub.market(symbol)
  if (market === undefined) {
    throw new Problem('not_found', `there is no market with this name: ${hub.marketList(plans)}`)
  }
  return market
}

export function readLimit(text: string | undefined): number {
  const limit = text === undefined ? LIMIT_DEFAULT : limitOf(text)
  if (limit === undefined) throw wrong('limit', LIMIT_RULE)
  return limit
}

export function wrong(parameter: string, detail: string): Problem {
  return invalidRequest([{ parameter, detail }])
}

/** An old book is never answered. */
export function requireBook({ replica: { live, isCrossed, reason } }: MarketStream): void {
  if (live && !isCrossed) return
  throw notLive(reason === '' ? 'the market is not live' : `the market is not live: ${reason}`)
}

/** After waiting: the market in the path is still this one and in the caller's plans, and its book is trusted. */
export function requireStill(
  market: MarketStream,
  request: FastifyRequest,
  channels: readonly ChannelType[],
  options: MarketRequestOptions,
): void {
  if (wantedMarket(request, channels, options) !== market) throw notLive('the market has changed')
  requireBook(market)
}

export function notLive(detail: string): Problem {
  return new Problem('market_not_live', detail, RETRY_AFTER)
}
