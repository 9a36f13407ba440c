/** The operator's calls for plans. */
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import { answered } from '../../../platform/http/raw-json.ts'
import type { Db } from '../../../platform/store/db.ts'
import { operatorActor, requireSeen, type Write } from '../operator-calls.ts'
import type { AuthTables } from '../tables.ts'
import { NewPlan, Plan, PlanChange, PlanList } from './schemas.ts'
import { changePlan, createPlan, deletePlan, getPlan, listPlans } from './store.ts'

interface ByName {
  readonly Params: { readonly name: string }
}

/** Declares the routes, relative to the prefix in `app`. */
export function registerPlanRoutes(app: FastifyInstance, db: Db, write: Write): void {
  app.get('/plans', answered(PlanList), async () => ({ items: await listPlans(db) }))
  app.post<{ Body: Static<typeof NewPlan> }>('/plans', answered(Plan, { body: NewPlan }), (request) =>
    write((transaction) => {
      const { name, ...bounds } = request.body
      return createPlan(transaction, operatorActor(request), name, bounds)
    }),
  )
  app.get<ByName>('/plans/:name', answered(Plan), ({ params }) => getPlan(db.tables<AuthTables>(), params.name))
  app.patch<ByName & { Body: Static<typeof PlanChange> }>(
    '/plans/:name',
    answered(Plan, { body: PlanChange }),
    (request) =>
      write(async (transaction) => {
        const { name } = request.params
        await requireSeen(request, () => getPlan(transaction, name, 'locked'))
        return await changePlan(transaction, operatorActor(request), name, request.body)
      }),
  )
  app.delete<ByName>('/plans/:name', answered(Plan), (request) =>
    write(async (transaction) => {
      const { name } = request.params
      await requireSeen(request, () => getPlan(transaction, name, 'locked'))
      return await deletePlan(transaction, operatorActor(request), name)
    }),
  )
}
