/** The calls for operators and their API tokens. The operator guard runs before them. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { OPERATOR_ROLES } from '../../contract/operator-calls.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { PageQuery, readPageQuery } from '../../platform/http/page-query.ts'
import { Problem } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import { textChoice } from '../../platform/http/text-choice.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { idOf, issuersBy, operatorActor, operatorOf } from '../clients/operator-calls.ts'
import { SUBJECT_CHARACTERS_MAX } from './openid-issuer.ts'
import type { OpenidLogin } from './openid-login.ts'
import {
  FirstLink,
  NewApiToken,
  NewOperatorAnswer,
  Operator,
  OperatorPage,
  OperatorWithLink,
} from './operator-answers.ts'
import { issuedCredential, issueOf } from './requested-credentials.ts'
import { type NewLink, storeLink } from './setup-links.ts'
import {
  type Changer,
  changeOperator,
  createApiToken,
  deleteApiToken,
  ensureOperator,
  getOperator,
  listOperators,
  lockPerson,
  type OpenidIdentity,
  resetOperator,
} from './store.ts'
import type { OperatorTables } from './tables.ts'

const strict = { additionalProperties: false }
const Role = textChoice(OPERATOR_ROLES)
/** In URLs and in the audit trail. */
export const OperatorName = Type.String({
  pattern: '^[a-z0-9][a-z0-9._@-]{0,63}$',
  maxLength: 64,
  description: 'Small letters, digits, and . _ @ - after the first character',
})
const Nothing = Type.Object({}, strict)
const Subject = Type.String({
  pattern: '^[\\x20-\\x7e]+$',
  minLength: 1,
  maxLength: SUBJECT_CHARACTERS_MAX,
  description: 'The person’s claim `sub` at the issuer in `operator.oidc.issuer`',
})
const NewOperator = Type.Object({ name: OperatorName, role: Role, subject: Type.Optional(Subject) }, strict)
const OperatorChange = Type.Object(
  {
    role: Type.Optional(Role),
    enabled: Type.Optional(Type.Boolean()),
    subject: Type.Optional(Type.Union([Subject, Type.Null()])),
  },
  { ...strict, minProperties: 1 },
)
const BOUNDS_MAX = 50
const Name = Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\0]*$' })
const Bounds = Type.Array(Name, { minItems: 1, maxItems: BOUNDS_MAX, uniqueItems: true })
const NewToken = Type.Object(
  {
    name: Name,
    role: Type.Optional(Role),
    sources: Type.Optional(Bounds),
    assets: Type.Optional(Bounds),
  },
  strict,
)

export interface OperatorRoutesOptions {
  readonly db: Db
  readonly clock: Clock
  /** The outside issuer. Absent: none is configured, and operators can have no subject. */
  readonly openid?: Pick<OpenidLogin, 'issuer'>
  /** A setup link's address. */
  linkAddress(token: string): string
  /** Creates a new setup link for the first admin, in the file named by the answer. */
  renewFirstLink(changer: Changer): Promise<NewLink & { readonly file: string }>
}

interface ByName {
  readonly Params: { readonly name: string }
}

/** Declares the routes, relative to the prefix in `app`. */
export function registerOperatorRoutes(app: FastifyInstance, options: OperatorRoutesOptions): void {
  const { db, clock } = options
  const now = () => clock.wallInstant().milliseconds
  const linkOf = async (transaction: Transaction<OperatorTables>, request: FastifyRequest, name: string) => {
    const { id } = await lockPerson(transaction, name)
    const { secret, hash } = issuedCredential('setup_link', operatorOf(request).confirmation)
    const link = secret === undefined ? {} : { setup_link: options.linkAddress(secret) }
    return { ...link, setup_expires_at: await storeLink(transaction, id, hash, now()) }
  }
  app.get<{ Querystring: Static<typeof PageQuery> }>(
    '/operators',
    answered(OperatorPage, { querystring: PageQuery }),
    ({ query }) => listOperators(db, readPageQuery(query)),
  )
  app.post<{ Body: Static<typeof NewOperator> }>(
    '/operators',
    answered(NewOperatorAnswer, { body: NewOperator }),
    (request) =>
      db.transaction<OperatorTables, object>(async (transaction) => {
        const { subject, ...wanted } = request.body
        const openid = subject === undefined ? {} : { openid: identityOf(subject, options) }
        const { operator, isNew } = await ensureOperator(transaction, changerOf(request), { ...wanted, ...openid })
        if (!isNew) {
          const meta = { existing: operator }
          throw new Problem('already_exists', 'name: an operator with this name exists', { meta })
        }
        const issue = issueOf({ call: 'POST /operators', params: {}, body: request.body })
        return issue === undefined ? operator : { ...operator, ...(await linkOf(transaction, request, operator.name)) }
      }),
  )
  app.get<ByName>('/operators/:name', answered(Operator), ({ params }) => getOperator(db.tables(), params.name))
  app.patch<ByName & { Body: Static<typeof OperatorChange> }>(
    '/operators/:name',
    answered(Operator, { body: OperatorChange }),
    async (request) => {
      const { name } = request.params
      if (operatorOf(request).name === name) {
        throw new Problem('invalid_state', 'operators cannot change themselves: ask another admin', {
          meta: { current: 'own' },
        })
      }
      const { subject, ...wanted } = request.body
      const openid = subject === undefined ? {} : { openid: subject === null ? null : identityOf(subject, options) }
      return await db.transaction<OperatorTables, object>((transaction) =>
        changeOperator(transaction, changerOf(request), name, { ...wanted, ...openid }),
      )
    },
  )
  app.post('/operators/setup-link', answered(FirstLink, { body: Nothing }), async (request) => {
    const { file, token, expiresAt } = await options.renewFirstLink(changerOf(request))
    return { file, setup_link: options.linkAddress(token), setup_expires_at: expiresAt }
  })
  app.post<ByName>('/operators/:name/reset', answered(OperatorWithLink, { body: Nothing }), (request) =>
    db.transaction<OperatorTables, object>(async (transaction) => {
      const operator = await resetOperator(transaction, changerOf(request), request.params.name)
      return { ...operator, ...(await linkOf(transaction, request, operator.name)) }
    }),
  )
  registerTokenRoutes(app, options)
}

function registerTokenRoutes(app: FastifyInstance, { db }: OperatorRoutesOptions): void {
  app.post<ByName & { Body: Static<typeof NewToken> }>(
    '/operators/:name/tokens',
    answered(NewApiToken, { body: NewToken }),
    (request) =>
      db.transaction<OperatorTables, object>((transaction) =>
        createApiToken(transaction, changerOf(request), request.params.name, request.body),
      ),
  )
  app.delete<{ Params: { name: string; id: string } }>('/operators/:name/tokens/:id', answered(Operator), (request) =>
    db.transaction<OperatorTables, object>((transaction) =>
      deleteApiToken(transaction, operatorActor(request), request.params.name, idOf(request.params.id)),
    ),
  )
}

function changerOf(request: FastifyRequest): Changer {
  const operator = operatorOf(request)
  return { actor: operatorActor(request), issuers: issuersBy(operator), confirmation: operator.confirmation }
}

function identityOf(subject: string, { openid }: OperatorRoutesOptions): OpenidIdentity {
  if (openid !== undefined) return { issuer: openid.issuer, subject }
  const meta = { current: 'no_issuer' }
  throw new Problem('invalid_state', 'subject: no issuer is configured (operator.oidc.issuer)', { meta })
}
