/**
 * The operator's calls for the ledger: a profile's balances and statement, ledger entries, and the results of the
 * ledger comparisons. The operator guard runs first.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { idOf, operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { readTime } from '../../platform/http/list-times.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem } from '../../platform/http/problem.ts'
import { answered, RawJson } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { createEntry, noEntry, reverseEntry } from '../ledger/entries.ts'
import { entryText, listEntries, lockedEntryText } from '../ledger/entry-lists.ts'
import {
  ENTRY_FILTERS,
  EntryBody,
  type EntryRequest,
  LedgerEntry,
  LedgerEntryPage,
  ReverseBody,
} from '../ledger/entry-schemas.ts'
import type { LedgerState } from '../ledger/upkeep.ts'
import { readBalances } from './balances.ts'
import { Ledger, OperatorBalances, Statement } from './schemas.ts'
import { readStatement, STATEMENT_LINES_MAX, type StatementPeriod } from './statement.ts'

interface ById {
  readonly Params: { readonly id: string }
}

const StatementQuery = Type.Object({ from: Type.String(), to: Type.String() })

/** Declares the routes, relative to the prefix of `app`. */
export function registerTransferOperatorRoutes(app: FastifyInstance, db: Db, ledgerState: () => LedgerState): void {
  app.get<ById>('/profiles/:id/balances', answered(OperatorBalances), async (request) => ({
    items: await balancesOf(db, request.params.id),
  }))
  app.get<ById & { Querystring: Static<typeof StatementQuery> }>(
    '/profiles/:id/statement',
    answered(Statement, { querystring: StatementQuery }),
    async (request) => {
      const period = readPeriod(request.query)
      await balancesOf(db, request.params.id)
      const profileId = idOf(request.params.id)
      const assets = await readStatement(db, profileId, period)
      if (assets !== undefined) return { profile_id: profileId, ...period, assets }
      const detail = `the period has more than ${STATEMENT_LINES_MAX} postings. Request a shorter period`
      throw invalidRequest([{ parameter: 'to', detail }])
    },
  )
  app.get('/ledger', answered(Ledger), async () => ledgerState())
  registerEntryRoutes(app, db)
}

function registerEntryRoutes(app: FastifyInstance, db: Db): void {
  app.get<{ Querystring: ListQuery<typeof ENTRY_FILTERS> }>(
    '/ledger/entries',
    {
      ...readsListQuery(ENTRY_FILTERS),
      ...answered(LedgerEntryPage, { querystring: listQuerySchema(ENTRY_FILTERS) }),
    },
    async ({ query }) => pageDocument(await listEntries(db, query)),
  )
  app.get<ById>('/ledger/entries/:id', answered(LedgerEntry), async ({ params }) => {
    return new RawJson((await entryText(db.tables(), idOf(params.id))) ?? noEntry())
  })
  app.post<{ Body: EntryRequest }>('/ledger/entries', answered(LedgerEntry, { body: EntryBody }), async (request) => {
    const actor = operatorActor(request)
    return new RawJson(await transactionWithRetries(db, (transaction) => createEntry(transaction, actor, request.body)))
  })
  app.post<ById & { Body: Static<typeof ReverseBody> }>(
    '/ledger/entries/:id/reverse',
    answered(LedgerEntry, { body: ReverseBody }),
    async (request) => {
      const [actor, id] = [operatorActor(request), idOf(request.params.id)]
      const text = await transactionWithRetries(db, async (transaction) => {
        await requireSeen(request, async () => new RawJson((await lockedEntryText(transaction, id)) ?? noEntry()))
        return await reverseEntry(transaction, actor, id, request.body.reason)
      })
      return new RawJson(text)
    },
  )
}

async function balancesOf(db: Db, id: string): ReturnType<typeof readBalances> {
  const balances = await readBalances(db, idOf(id))
  if (balances === undefined) throw new Problem('not_found', 'there is no profile with this id')
  return balances
}

function readPeriod({ from: fromText, to: toText }: Static<typeof StatementQuery>): StatementPeriod {
  const from = readTime(fromText)
  const to = readTime(toText)
  const detail = 'must be an RFC 3339 time such as 2006-01-02T15:04:05Z'
  if (from === undefined) throw invalidRequest([{ parameter: 'from', detail }])
  if (to === undefined) throw invalidRequest([{ parameter: 'to', detail }])
  if (to < from) throw invalidRequest([{ parameter: 'to', detail: 'must not be before from' }])
  return { from, to }
}
