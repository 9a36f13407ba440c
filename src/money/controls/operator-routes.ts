/**
 * The operator's calls for the controls: show the current pauses and change them. The operator guard runs before them.
 */
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { operatorActor, requireSeen } from '../../access/clients/operator-calls.ts'
import { type Conversions, FIAT_NETWORKS, isConvertible } from '../../contract/assets.ts'
import { type FieldError, invalidRequest } from '../../platform/http/problem.ts'
import { answered } from '../../platform/http/raw-json.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { changeControls, lockControls, readControls } from './store.ts'
import type { ControlsTables } from './tables.ts'

export interface ControlOperatorRoutesOptions {
  readonly db: Db
  /** The current assets, pairs at par, and markets. */
  conversions(): Conversions
  /** Makes paused orchestrations and deliveries due at once, in the same transaction as the change. */
  wake(transaction: Transaction<ControlsTables>): Promise<void>
}

const strict = { additionalProperties: false }
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 200 })
const Paused = Type.Object(
  {
    assets: Type.Optional(Names),
    networks: Type.Optional(Names),
    pairs: Type.Optional(Names),
    deliveries: Type.Optional(Type.Boolean()),
  },
  { ...strict, minProperties: 1, description: 'Each member replaces its list. Absent: unchanged' },
)
const ControlsBody = Type.Object({ paused: Paused }, strict)
const Controls = Type.Object(
  {
    paused: Type.Object({
      assets: Type.Array(Type.String()),
      networks: Type.Array(Type.String()),
      pairs: Type.Array(Type.String()),
      deliveries: Type.Boolean(),
    }),
    deliveries_paused_because: Type.Optional(
      Type.Literal('store_restored', { description: 'The store was restored or promoted. Resuming confirms it' }),
    ),
    updated_at: Type.Optional(Type.String({ format: 'date-time', description: 'Absent: never changed' })),
  },
  { title: 'Controls' },
)

/** Declares the routes, relative to the prefix of `app`. */
export function registerControlOperatorRoutes(app: FastifyInstance, options: ControlOperatorRoutesOptions): void {
  const { db, conversions, wake } = options
  app.get('/controls', answered(Controls), () => readControls(db))
  app.patch<{ Body: Static<typeof ControlsBody> }>(
    '/controls',
    answered(Controls, { body: ControlsBody }),
    async (request) => {
      const { paused } = request.body
      const [first, ...rest] = pausedFaults(paused, conversions())
      if (first !== undefined) throw invalidRequest([first, ...rest])
      return await transactionWithRetries(db, async (transaction: Transaction<ControlsTables>) => {
        await requireSeen(request, () => lockControls(transaction))
        const { document, isChanged } = await changeControls(transaction, operatorActor(request), paused)
        if (isChanged) await wake(transaction)
        return document
      })
    },
  )
}

/** Faults for unconfigured names, which would pause nothing. */
function pausedFaults(
  { assets = [], networks = [], pairs = [] }: Static<typeof Paused>,
  conversions: Conversions,
): readonly FieldError[] {
  const symbols = conversions.assets.map(({ symbol }) => symbol)
  const carriers = new Set<string>([...FIAT_NETWORKS, ...conversions.assets.flatMap((asset) => asset.networks)])
  const faultsOf = (kind: string, names: readonly string[], isKnown: (name: string) => boolean, rule: string) =>
    names.flatMap((name, index): FieldError[] =>
      isKnown(name) ? [] : [{ pointer: `/paused/${kind}/${index}`, detail: rule }],
    )
  const isPair = (name: string): boolean => {
    const [source = '', destination = '', ...more] = name.split('/')
    const areAssets = symbols.includes(source) && symbols.includes(destination) && source !== destination
    return more.length === 0 && areAssets && isConvertible(source, destination, conversions)
  }
  return [
    ...faultsOf('assets', assets, (name) => symbols.includes(name), `must be one of ${symbols.join(', ')}`),
    ...faultsOf('networks', networks, (name) => carriers.has(name), `must be one of ${[...carriers].join(', ')}`),
    ...faultsOf('pairs', pairs, isPair, 'must be a convertible pair, written as SOURCE/DESTINATION, such as USDC/USD'),
  ]
}
