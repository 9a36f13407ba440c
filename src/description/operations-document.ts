/**
 * Collects what the routes say of themselves: paths, parameters, bodies and answers, from the very schemas that
 * validate and serialise. A route counts when it names a row of the table of operations; others are not described.
 * `describeOperations` has to come before the first route.
 */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { OPERATIONS, type OperationId } from '../contract/operations.ts'
import type { Json } from './answers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Only after `ready`. */
    describedOperations(): unknown
  }
}

/** The paths of the OpenAPI document, with what the routes alone know. */
export type DescribedPaths = Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>

export interface DescribedOperation {
  readonly operationId: OperationId
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: Json
  readonly responses: { readonly 200: Json }
}

/** Name of the security scheme that the operations refer to. */
export const TOKEN_SCHEME = 'token'

export async function describeOperations(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    // Under this name the page at /docs does not find it: it would serve documents of its own.
    decorator: 'describedOperations' as 'swagger',
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      components: { securitySchemes: { [TOKEN_SCHEME]: { type: 'http', scheme: 'bearer' } } },
    },
    transform: ({ schema, url, route }) => {
      const { operationId } = (route.config ?? {}) as { operationId?: OperationId }
      if (operationId === undefined) return { schema: { hide: true }, url }
      const { summary, scope } = OPERATIONS[operationId]
      return {
        schema: { ...schema, operationId, summary, security: [{ [TOKEN_SCHEME]: scope === undefined ? [] : [scope] }] },
        url,
      }
    },
  })
}

export function describedPaths(app: FastifyInstance): DescribedPaths {
  return (app.describedOperations() as { paths: DescribedPaths }).paths
}
