/**
 * Collects paths, parameters, bodies and answers from the routes' schemas. A route on the public listener is described
 * when it names a row in the table of operations, and one on the operator listener when its method and path are a row
 * in the tables of calls. `describeOperations` and `describeOperatorCalls` must be called before the first route is
 * declared.
 */
import swagger from '@fastify/swagger'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { OPERATIONS, type OperationId } from '../../contract/operations.ts'
import { LOGIN_CALLS, OPERATOR_CALLS, OPERATOR_PREFIX } from '../../contract/operator-calls.ts'
import { describedQuery } from '../../platform/http/page-query.ts'
import type { Json } from './answers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Only after `ready`. */
    describedOperations(): unknown
  }
}

/** The OpenAPI document's paths, with the parts from the routes. */
export type DescribedPaths<Operation = DescribedOperation> = Readonly<
  Record<string, Readonly<Record<string, Operation>>>
>

export interface DescribedOperation extends DescribedRoute {
  readonly operationId: OperationId
}

/** The parts from a route's schemas. */
export interface DescribedRoute {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: Json
  /** 302: a route for browsers, which has no other answer than a redirection. */
  readonly responses: { readonly 200: Json; readonly 302?: Json }
}

/** Name of the security scheme in the operations. */
export const TOKEN_SCHEME = 'token'

export async function describeOperations(app: FastifyInstance): Promise<void> {
  await describeRoutes(app, ({ config }) => {
    const { operationId } = (config ?? {}) as { operationId?: OperationId }
    if (operationId === undefined) return undefined
    const { summary, scope } = OPERATIONS[operationId]
    return { operationId, summary, security: [{ [TOKEN_SCHEME]: scope === undefined ? [] : [scope] }] }
  })
}

export async function describeOperatorCalls(app: FastifyInstance): Promise<void> {
  await describeRoutes(app, ({ method, url, schema, config = {} }) => {
    const call = `${[method].flat()[0]} ${url.slice(OPERATOR_PREFIX.length)}`
    if (!url.startsWith(`${OPERATOR_PREFIX}/`)) return undefined
    if (!Object.hasOwn(OPERATOR_CALLS, call) && !Object.hasOwn(LOGIN_CALLS, call)) return undefined
    const { querystring } = (schema ?? {}) as { querystring?: object }
    return {
      ...(config.describedBody === undefined ? {} : { body: config.describedBody }),
      ...(querystring === undefined ? {} : { querystring: describedQuery(querystring) }),
    }
  })
}

/** @param describe returns the addition to a route's schema. Undefined: the route is not described */
async function describeRoutes(
  app: FastifyInstance,
  describe: (route: RouteOptions) => Json | undefined,
): Promise<void> {
  await app.register(swagger, {
    // Not the default, `swagger`: the package behind the page at /docs would find it and serve its own documents.
    decorator: 'describedOperations' as 'swagger',
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      components: { securitySchemes: { [TOKEN_SCHEME]: { type: 'http', scheme: 'bearer' } } },
    },
    transform: ({ schema, url, route }) => {
      const added = describe(route)
      return { schema: added === undefined ? { hide: true } : { ...schema, ...added }, url }
    },
  })
}

export function describedPaths<Operation = DescribedOperation>(app: FastifyInstance): DescribedPaths<Operation> {
  return (app.describedOperations() as { paths: DescribedPaths<Operation> }).paths
}
