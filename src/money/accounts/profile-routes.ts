/**
 * The public operations on profiles: list and get. A customer sees only its own. The guard has authenticated the
 * caller.
 */
import type { FastifyInstance } from 'fastify'
import { callerOf, type Guard } from '../../access/clients/guard.ts'
import { isUuid } from '../../platform/base/ids.ts'
import { type ListQuery, listQuerySchema, readsListQuery } from '../../platform/http/list-query.ts'
import { pageDocument } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { WRITES_RAW_JSON } from '../../platform/http/raw-json.ts'
import type { Db } from '../../platform/store/db.ts'
import { getOwnProfile, listOwnProfiles } from './profiles.ts'
import { PROFILE_FILTERS, Profile, ProfilePage } from './schemas.ts'

export interface ProfileRoutesOptions {
  readonly db: Db
  readonly guard: Guard
}

/** Declares the routes, with the paths from the operations table. */
export function registerProfileRoutes(app: FastifyInstance, { db, guard }: ProfileRoutesOptions): void {
  app.route<{ Querystring: ListQuery<typeof PROFILE_FILTERS> }>({
    ...guard('listProfiles'),
    ...readsListQuery(PROFILE_FILTERS),
    schema: { querystring: listQuerySchema(PROFILE_FILTERS), response: { 200: ProfilePage } },
    ...WRITES_RAW_JSON,
    handler: async (request) => pageDocument(await listOwnProfiles(db, callerOf(request).customerId, request.query)),
  })
  app.route<{ Params: { id: string } }>({
    ...guard('getProfile'),
    schema: { response: { 200: Profile } },
    ...WRITES_RAW_JSON,
    async handler(request) {
      const id = request.params.id.toLowerCase()
      const profile = isUuid(id) ? await getOwnProfile(db, callerOf(request).customerId, id) : undefined
      if (profile === undefined) throw new Problem('not_found', 'there is no profile with this id')
      return profile
    },
  })
}
