/**
 * Guards of the ledger, its workers and its payments are switched off one at a time: the simulation has to notice each
 * within its ordinary number of rounds, or it would not notice a mistake in them either. Constraints and indexes are
 * dropped from the schema; conditions and orders are taken out of the statements on their way to the store.
 *
 * Claimed work has two guards, and no money moves wrongly while either is there. The state is read from the row that is
 * locked, so whoever comes second finds it changed, whatever its claim; and whatever changes the state removes the work,
 * so whoever finishes with a claim finds that gone and rolls back. Each has a scenario of its own all the same: a worker
 * that continues after its claim was over (`stall`), and a deposit that is reversed after its orchestration has ended,
 * where there is no claim. Both switched off at once convert twice.
 */
import { PostgresQueryCompiler } from 'kysely'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Db } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { hasPostgres } from '../../support/postgres.ts'
import { Random } from '../../support/random.ts'
import { runWorld } from './world/run.ts'
import { World } from './world/world.ts'

const ROUNDS = 150
/** Seeds that each guard is looked for with, one after the other. */
const SEEDS = [1, 2, 3, 4, 5, 6].map((number) => 20_260_100 + number)

interface Mutation {
  /** Statements that take a guard out of the schema. */
  readonly schema?: readonly string[]
  /** What is replaced in every statement. */
  readonly statements?: readonly (readonly [pattern: RegExp, replacement: string])[]
}

const LEASE_FENCE = [/queue\.attempt = claims\.attempt/g, 'queue.attempt >= 0'] as const

const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'the unique payment': { schema: ['drop index deposits_payment'] },
  'the order of locks': {
    // Some milliseconds between one row and the next, so that two transactions meet there as they do on a busy server.
    statements: [
      [
        /select profile_id, asset, available,([^;]*?)order by profile_id, asset collate "C"(\s+for update)/,
        'select profile_id, asset, available + length(pg_sleep(0.01)::text) as available,$1order by random()$2',
      ],
    ],
  },
  'the CHECK of balances': {
    schema: ['available', 'in_transit', 'held', 'receivable'].map(
      (bucket) => `alter table balances drop constraint balances_${bucket}`,
    ),
  },
  'the trigger that keeps postings': { schema: ['drop trigger postings_are_final on postings'] },
  'the fence of claimed work': { statements: [LEASE_FENCE] },
  'the state in the lock of a reversal': {
    statements: [[/(where id = \$\d+) and status = 'PROCESSING' and step = 'convert'/, '$1']],
  },
  'the fence and the state of claimed work': {
    statements: [LEASE_FENCE, [/where status = 'PROCESSING' and step = 'convert'/g, 'where true']],
  },
  'the fence of attempts to pay': {
    // Later claims get the number of the first one, so every result is one of the present attempt.
    schema: ['alter table delivery_attempts drop constraint delivery_attempts_pkey'],
    statements: [[/attempt = attempt \+ 1, executor/, 'attempt = greatest(attempt, 1), executor']],
  },
  'the lock of what the desk may pay': {
    statements: [[/select pg_advisory_xact_lock\(space, key\)/, 'select pg_sleep(0.02)']],
  },
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe.skipIf(!hasPostgres)('the simulation notices when it is switched off (needs PostgreSQL):', () => {
  it.each(Object.entries(MUTATIONS))(
    'the simulation notices that this is switched off: %s',
    async (guard, mutation) => {
      const applied = mutate(mutation.statements ?? [])
      const noticed: string[] = []
      for (const seed of SEEDS) {
        if (noticed.length === 0) noticed.push(...(await violationsOf(seed, mutation.schema ?? [])))
      }
      console.info(`${guard}: ${noticed[0]?.slice(0, 300)}`)
      expect(mutation.statements === undefined || applied() > 0, 'the guard was found').toBe(true)
      expect(noticed).not.toEqual([])
    },
  )
})

async function violationsOf(seed: number, schema: readonly string[]): Promise<readonly string[]> {
  const world = await World.open(new Random(seed), (db: Db) => change(db, schema), 'postgres')
  try {
    return await runWorld(world, ROUNDS)
  } catch (error) {
    return [String(error)]
  } finally {
    await world.close()
  }
}

async function change(db: Db, schema: readonly string[]): Promise<void> {
  for (const statement of schema) await sql.raw(statement).execute(db.tables())
}

/** Replaces in every statement; the function gives how many were changed. */
function mutate(replacements: NonNullable<Mutation['statements']>): () => number {
  let applied = 0
  const compile = PostgresQueryCompiler.prototype.compileQuery
  vi.spyOn(PostgresQueryCompiler.prototype, 'compileQuery').mockImplementation(function (
    this: PostgresQueryCompiler,
    ...call: Parameters<typeof compile>
  ) {
    const compiled = compile.apply(this, call)
    const text = replacements.reduce((changed, [pattern, by]) => changed.replace(pattern, by), compiled.sql)
    if (text !== compiled.sql) applied++
    return { ...compiled, sql: text }
  })
  return () => applied
}
