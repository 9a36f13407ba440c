/**
 * The operator's calls for deposits: reports from custody and banks, lists, single deposits with their traces, and
 * actions. The operator guard runs before them.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import { idOf, operatorActor, operatorOf, requireSeen } from '../../access/clients/operator-calls.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { pageDocument, readPageQuery } from '../../platform/http/page-query.ts'
import { invalidRequest, Problem, problemDocument } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { validationErrors } from '../../platform/http/validation.ts'
import { type Db, type Kysely, StoreUnavailable, type Transaction } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { type Release, ReleaseBody } from '../gates/release.ts'
import { type PartiesForm, partiesFormFor, partiesOf } from '../screening/parties.ts'
import { correctDeposit } from './correct.ts'
import {
  assignDeposit,
  holdDeposit,
  lockDeposit,
  rejectDeposit,
  releaseDeposit,
  reverseDeposit,
} from './operator-actions.ts'
import type { DepositSettings } from './record.ts'
import { isReport, type Report, readReport } from './report.ts'
import type { DepositReporter, ReportResult } from './reporter.ts'
import { returnDeposit } from './returns.ts'
import {
  AssignBody,
  CorrectBody,
  Deposit,
  DepositPage,
  DepositReport,
  type DepositReportBody,
  DepositReports,
  DepositsQuery,
  DepositTrace,
  ReasonBody,
  ReportAnswer,
  ReturnBody,
} from './schemas.ts'
import { listDeposits, readDeposit } from './store.ts'
import type { DepositTables } from './tables.ts'
import { traceDeposit } from './trace.ts'

export interface DepositOperatorRoutesOptions {
  readonly db: Db
  readonly reporter: DepositReporter
  /** The current settings. */
  settings(): DepositSettings
  /** Encrypts the deposits’ parties. Undefined: none can be stored or read. */
  readonly encryptionKey: EncryptionKey | undefined
}

/** One report, or up to 100. */
const DepositBodies = Type.Union([DepositReport, DepositReports])
/** No record has this id. */
const NIL_ID = '00000000-0000-0000-0000-000000000000'

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerDepositOperatorRoutes(app: FastifyInstance, options: DepositOperatorRoutesOptions): void {
  const { db } = options
  // The handler validates a batch's reports, because each one is accepted or rejected separately.
  app.post(
    '/deposits',
    {
      ...answered(ReportAnswer),
      config: { describedBody: DepositBodies },
      preValidation: async (request) =>
        refuseInvalid(request, isBatch(request) ? DepositReports : DepositReport, request.body ?? {}),
    },
    (request) => report(request, options),
  )
  app.get<{ Querystring: Static<typeof DepositsQuery> }>(
    '/deposits',
    answered(DepositPage, { querystring: DepositsQuery }),
    async ({ query: { limit, order, page_cursor, ...filters }, query }) =>
      pageDocument(await listDeposits(db, filters, readPageQuery(query))),
  )
  app.get<ById>('/deposits/:id', answered(Deposit), (request) =>
    shownDeposit(db.tables(), idOf(request.params.id), options.encryptionKey, partiesFormFor(request)),
  )
  app.get<ById>('/deposits/:id/trace', answered(DepositTrace), ({ params }) => traceDeposit(db, idOf(params.id)))
  registerActions(app, options)
}

/** The operator's actions on one deposit. Each returns the deposit after the action. */
function registerActions(app: FastifyInstance, options: DepositOperatorRoutesOptions): void {
  const { db, settings, encryptionKey } = options
  const act = async (
    request: FastifyRequest,
    work: (transaction: Transaction<DepositTables>, actor: string, id: string) => Promise<void>,
  ) => {
    const id = idOf((request.params as ById['Params']).id)
    const actor = operatorActor(request)
    await transactionWithRetries<DepositTables, void>(db, async (transaction) => {
      await requireSeen(request, async () => {
        await lockDeposit(transaction, id)
        return await shownDeposit<DepositTables>(transaction, id, encryptionKey, 'kept')
      })
      await work(transaction, actor, id)
    })
    return await shownDeposit(db.tables(), id, encryptionKey)
  }
  app.post<ById & { Body: Static<typeof AssignBody> }>(
    '/deposits/:id/assign',
    answered(Deposit, { body: AssignBody }),
    (request) => {
      const { profile_id, run_rules: runsRules = false } = request.body
      const to = { profileId: profileIdOf(profile_id), runsRules }
      return act(request, (transaction, actor, id) => assignDeposit(transaction, actor, id, to, settings()))
    },
  )
  app.post<ById & { Body: Static<typeof CorrectBody> }>(
    '/deposits/:id/correct',
    answered(Deposit, { body: CorrectBody }),
    (request) => {
      const { profile_id } = request.body
      const terms = { ...request.body, ...(profile_id === undefined ? {} : { profile_id: profileIdOf(profile_id) }) }
      return act(request, (transaction, actor, id) => correctDeposit(transaction, actor, id, terms, settings()))
    },
  )
  app.post<ById & { Body: Static<typeof ReasonBody> }>(
    '/deposits/:id/hold',
    answered(Deposit, { body: ReasonBody }),
    (request) => act(request, (transaction, actor, id) => holdDeposit(transaction, actor, id, request.body.reason)),
  )
  app.post<ById & { Body: Release }>('/deposits/:id/release', answered(Deposit, { body: ReleaseBody }), (request) =>
    act(request, (transaction, actor, id) => releaseDeposit(transaction, actor, id, request.body, settings())),
  )
  app.post<ById & { Body: Static<typeof ReasonBody> }>(
    '/deposits/:id/reject',
    answered(Deposit, { body: ReasonBody }),
    (request) => act(request, (transaction, actor, id) => rejectDeposit(transaction, actor, id, request.body.reason)),
  )
  app.post<ById & { Body: Static<typeof ReasonBody> }>(
    '/deposits/:id/reverse',
    answered(Deposit, { body: ReasonBody }),
    (request) => act(request, (transaction, actor, id) => reverseDeposit(transaction, actor, id, request.body.reason)),
  )
  app.post<ById & { Body: Static<typeof ReturnBody> }>(
    '/deposits/:id/return',
    answered(Deposit, { body: ReturnBody }),
    (request) =>
      act(request, (transaction, actor, id) =>
        returnDeposit(transaction, actor, id, request.body, settings().conversions.assets),
      ),
  )
}

/** The deposit with its parties. */
async function shownDeposit<Tables extends DepositTables>(
  tables: Kysely<Tables>,
  id: string,
  key: EncryptionKey | undefined,
  form: PartiesForm = 'shown',
) {
  const deposit = await readDeposit(tables, id)
  const parties = (await partiesOf(tables, [id], key, form)).get(id)
  return parties === undefined ? deposit : { ...deposit, parties: JSON.parse(parties) as object }
}

/** Text that is not an id becomes an id without a profile, so the answer is 404. */
function profileIdOf(text: string): string {
  return isUuid(text) ? text.toLowerCase() : NIL_ID
}

function isBatch({ body }: FastifyRequest): boolean {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, 'deposits')
}

async function report(request: FastifyRequest, options: DepositOperatorRoutesOptions): Promise<unknown> {
  const { body } = request
  if (!isBatch(request)) {
    const [result] = await options.reporter.report([readOne(request, body, options)])
    return documentOf(result as ReportResult)
  }
  const read = (body as Static<typeof DepositReports>).deposits.map((entry) => tryRead(request, entry, options))
  const results = await options.reporter.report(read.filter((each) => !(each instanceof Problem)))
  const recorded = results.values()
  const all = read.map(
    (each): ReportResult => (each instanceof Problem ? { problem: each } : (recorded.next().value as ReportResult)),
  )
  refuseUnstored(all)
  const failed = all.filter((result) => !('deposit' in result)).length
  return { failed, results: all.map((result) => resultDocument(result, request)) }
}

/**
 * If the store took no report in the batch, the answer is 503, as for a single report, and the source sends the batch
 * again.
 */
function refuseUnstored([first, ...others]: readonly ReportResult[]): void {
  if (first === undefined || !isUnavailable(first) || !others.every(isUnavailable)) return
  throw first.error
}

function isUnavailable(result: ReportResult): result is { readonly error: StoreUnavailable } {
  return 'error' in result && result.error instanceof StoreUnavailable
}

/** The valid report. Throws 400 with one fault per invalid field. */
function readOne(request: FastifyRequest, body: unknown, options: DepositOperatorRoutesOptions): Report {
  const { conversions, gates } = options.settings()
  const parties = { isScreening: gates.screening !== undefined, encryptionKey: options.encryptionKey }
  const read = readReport(body as DepositReportBody, conversions.assets, operatorActor(request), parties)
  if (!isReport(read)) throw invalidRequest(read)
  refuseUnbound(request, read)
  return read
}

/** Throws 403 for a machine whose token is bound to other sources or assets. */
function refuseUnbound(request: FastifyRequest, { source, asset }: Report): void {
  const { sources, assets } = operatorOf(request).token ?? {}
  if (sources && !sources.includes(source)) throw new Problem('outside_binding', `the token is not bound to ${source}`)
  if (assets && !assets.includes(asset)) throw new Problem('outside_binding', `the token is not bound to ${asset}`)
}

function tryRead(request: FastifyRequest, entry: unknown, options: DepositOperatorRoutesOptions): Report | Problem {
  try {
    refuseInvalid(request, DepositReport, entry)
    return readOne(request, entry, options)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

function refuseInvalid(request: FastifyRequest, schema: TSchema, value: unknown): void {
  const validate = request.compileValidationSchema(schema as { [key: string]: unknown }, 'body')
  if (validate(value) === true) return
  const errors = validate.errors as Parameters<typeof validationErrors>[0]
  throw invalidRequest(validationErrors(errors, 'body'))
}

/** The answer to a single report: its deposit. Throws the report's problem. */
function documentOf(result: ReportResult): object {
  if ('deposit' in result) return result.deposit
  throw 'problem' in result ? result.problem : result.error
}

/** The answer to one report in a batch: its deposit or its problem. */
function resultDocument(result: ReportResult, { id }: FastifyRequest): object {
  if ('deposit' in result) return result
  const problem = 'problem' in result ? result.problem : problemOfError(result.error)
  return { problem: problemDocument(problem, id) }
}

function problemOfError(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (error instanceof StoreUnavailable) return new Problem('unavailable', 'the store is unavailable. Report it again')
  return new Problem('internal', 'an error on our side. Quote request_id')
}
