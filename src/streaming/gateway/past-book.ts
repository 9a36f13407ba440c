/**
 * The operator's query for a past book, answered from the service's recordings: request parameters and answer
 * documents. Prices and amounts are exact text. Members without a value are absent.
 */
import { type Static, Type } from 'typebox'
import { millisecondText, nanosecondText } from '../../platform/base/clock.ts'
import { formatDecimal } from '../../platform/base/decimal.ts'
import { readInstant, TIME_RULE } from '../../platform/http/list-times.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { BID, type LevelChange, type MarketDefinition } from '../market/event.ts'
import type { NotRecorded, PastBook, PastBookRequest, PastExecution } from '../recordings/past-book.ts'
import { PastBooksBusy } from '../recordings/past-books.ts'

/** Reads this node's recordings. */
export interface PastBookReader {
  read(request: Omit<PastBookRequest, 'folder'>): Promise<PastBook | NotRecorded>
}

export const PastBookQuery = Type.Object({
  at: Type.Optional(Type.String()),
  executions: Type.Optional(Type.String()),
})

const EXECUTIONS_MAX = 1_000
const NANOSECONDS_MAX = 999_999
/** Seconds after which another attempt is worthwhile. */
const RETRY_AFTER = { headers: { 'retry-after': '5' } }

/**
 * @param depth levels per side
 * @throws {Problem} 400 for an unreadable time, 404 when no recording contains it, 503 while others are read
 */
export async function answerPastBook(
  books: PastBookReader | undefined,
  symbol: string,
  depth: number,
  { at = '', executions = '0' }: Static<typeof PastBookQuery>,
): Promise<object> {
  const instant = readInstant(at)
  if (instant === undefined) throw invalidRequest([{ parameter: 'at', detail: TIME_RULE }])
  const executionsMax = /^[0-9]{1,4}$/.test(executions) ? Number(executions) : EXECUTIONS_MAX + 1
  if (executionsMax > EXECUTIONS_MAX) {
    throw invalidRequest([{ parameter: 'executions', detail: `must be a whole number from 0 to ${EXECUTIONS_MAX}` }])
  }
  if (books === undefined) throw new Problem('not_found', 'this node records nothing: recording.dir is empty')
  const { milliseconds } = instant
  const given = nanosecondsOf(at)
  // A message's time has milliseconds: its commit is included.
  const nanoseconds = given ?? NANOSECONDS_MAX
  const book = await readBook(books, { symbol, depth, executionsMax, milliseconds, nanoseconds })
  if (book.kind === 'not-recorded') throw notRecorded(book, at)
  const time = given === undefined ? millisecondText(milliseconds) : nanosecondText(milliseconds, given)
  return pastBookDocument(book, time, depth, executionsMax > 0)
}

async function readBook(
  books: PastBookReader,
  request: Omit<PastBookRequest, 'folder'>,
): Promise<PastBook | NotRecorded> {
  try {
    return await books.read(request)
  } catch (error) {
    if (error instanceof PastBooksBusy) throw new Problem('unavailable', error.message, RETRY_AFTER)
    throw error
  }
}

/** A checked time's nanoseconds inside the millisecond. Undefined where it has no finer digits. */
function nanosecondsOf(text: string): number | undefined {
  const fraction = /\.([0-9]{1,9})/.exec(text)?.[1] ?? ''
  return fraction.length <= 3 ? undefined : Number(fraction.slice(3).padEnd(6, '0'))
}

function notRecorded({ beforeMilliseconds, afterMilliseconds, reason }: NotRecorded, at: string): Problem {
  const [before, after] = [beforeMilliseconds, afterMilliseconds].map((time) =>
    time === undefined ? undefined : millisecondText(time),
  )
  const nearest = [
    ...(before === undefined ? [] : [`the last recorded time before it is ${before}`]),
    ...(after === undefined ? [] : [`the first after it is ${after}`]),
  ]
  const detail = [
    `none of this node’s recordings contains ${at}`,
    ...(reason === undefined ? [] : [reason]),
    ...nearest,
  ]
  return new Problem('not_found', detail.join('; '), {
    meta: {
      ...(before === undefined ? {} : { recorded_before: before }),
      ...(after === undefined ? {} : { recorded_after: after }),
    },
  })
}

function pastBookDocument(book: PastBook, at: string, depth: number, hasExecutions: boolean): object {
  const { market, reason, lostSinceMilliseconds: since, isWithdrawn, commit, levels, executions, file } = book
  return {
    symbol: market.symbol,
    at,
    live: reason === undefined,
    ...(reason === undefined ? {} : { reason }),
    ...(since === undefined ? {} : { stale_since: millisecondText(since) }),
    withdrawn: isWithdrawn,
    version: commit?.version ?? 0,
    ...(commit === undefined
      ? {}
      : {
          epoch: commit.epoch,
          time: millisecondText(commit.milliseconds),
          committed_at: nanosecondText(commit.milliseconds, commit.nanoseconds),
        }),
    ...(book.origin === undefined ? {} : { origin: book.origin }),
    ...(book.instrument === undefined
      ? {}
      : { instrument_state: book.instrument.state, instrument_reason: book.instrument.reason }),
    depth,
    bid_levels: book.bidLevels,
    ask_levels: book.askLevels,
    bids: levels.filter(({ side }) => side === BID).map((level) => levelDocument(market, level)),
    asks: levels.filter(({ side }) => side !== BID).map((level) => levelDocument(market, level)),
    ...(hasExecutions ? { executions: executions.map((execution) => executionDocument(market, execution)) } : {}),
    recording: file,
  }
}

function executionDocument(market: MarketDefinition, execution: PastExecution): object {
  const { id, side, venue, executedAtMilliseconds, committedAtMilliseconds } = execution
  return {
    ...levelDocument(market, execution),
    ...(id === undefined ? {} : { id }),
    ...(side === undefined ? {} : { side }),
    ...(venue === undefined ? {} : { venue }),
    ...(executedAtMilliseconds === undefined ? {} : { executed_at: millisecondText(executedAtMilliseconds) }),
    committed_at: millisecondText(committedAtMilliseconds),
  }
}

function levelDocument(
  { priceDecimals, amountDecimals }: MarketDefinition,
  { price, amount }: Pick<LevelChange, 'price' | 'amount'>,
): { readonly price: string; readonly amount: string } {
  return { price: formatDecimal(price, priceDecimals), amount: formatDecimal(amount, amountDecimals) }
}
