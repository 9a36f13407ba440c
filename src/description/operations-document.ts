/**
 * Collects paths, parameters, bodies and answers from the schemas of the routes. A route is described when it names a row of
 * the table of operations. `describeOperations` must be called before the first route is declared.
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

/** The paths of the OpenAPI document, with the parts that come from the routes. */
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
    // Not the default, `swagger`: the package of the page at /docs would find it and serve documents of its own.
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
