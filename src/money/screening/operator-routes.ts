/** The operator's calls for screenings: lists, and a person's decision. The operator guard runs before them. */
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import { idOf, operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { answered, RawJson } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { decideScreening, lockScreened, noScreening } from './decide.ts'
import { listScreenings, screeningText } from './lists.ts'
import type { ScreenedKinds } from './movements.ts'
import { DecideBody, SCREENING_FILTERS, Screening, ScreeningPage } from './schemas.ts'

export interface ScreeningOperatorRoutesOptions {
  readonly db: Db
  readonly kinds: ScreenedKinds
}

interface ById {
  readonly Params: { readonly id: string }
}

/** Declares the routes, relative to the prefix of `app`. */
export function registerScreeningOperatorRoutes(
  app: FastifyInstance,
  { db, kinds }: ScreeningOperatorRoutesOptions,
): void {
  app.get<{ Querystring: ListQuery<typeof SCREENING_FILTERS> }>(
    '/screening',
    {
      ...readsListQuery(SCREENING_FILTERS),
      ...answered(ScreeningPage, { querystring: listQuerySchema(SCREENING_FILTERS) }),
    },
    async ({ query }) => pageDocument(await listScreenings(db, query)),
  )
  app.get<ById>('/screening/:id', answered(Screening), async ({ params }) => {
    return new RawJson((await screeningText(db.tables(), idOf(params.id))) ?? noScreening())
  })
  app.post<ById & { Body: Static<typeof DecideBody> }>(
    '/screening/:id/decide',
    answered(Screening, { body: DecideBody }),
    async (request) => {
      const id = idOf(request.params.id)
      return await transactionWithRetries(db, async (transaction) => {
        await requireSeen(request, async () => {
          await lockScreened(transaction, kinds, id)
          return new RawJson((await screeningText(transaction, id)) ?? noScreening())
        })
        await decideScreening(transaction, kinds, operatorActor(request), id, request.body)
        return new RawJson((await screeningText(transaction, id)) ?? noScreening())
      })
    },
  )
}
