/**
 * A store whose process crashes at a chosen point: before a statement, before a commit, or after a commit whose
 * response is lost. From then on every statement of this store fails until `restart`. Other stores on the same engine
 * are not affected.
 */
import { type Db, type Kysely, StoreUnavailable, type Transaction } from '../../src/platform/store/db.ts'

export interface Crash {
  /** How many points to pass before the crash; 0: the next one. */
  readonly after: number
}

export interface FaultyStore {
  readonly db: Db
  /** Points passed since `restart`: statements, and two for each committed transaction. */
  readonly points: number
  /** The crash's point, by the statement's first words. Undefined before it. */
  readonly diedAt: string | undefined
  /** Plans one crash. It replaces a planned crash that was not reached. */
  crash(crash: Crash): void
  /** Starts a new process on the same store, without a planned crash. */
  restart(): void
}

type Plugin = Parameters<Kysely<unknown>['withPlugin']>[0]

export function createFaultyStore(db: Db): FaultyStore {
  let points = 0
  let crashAt = Number.POSITIVE_INFINITY
  let diedAt: string | undefined

  /** One point between two writes. */
  const pass = (name: () => string): void => {
    if (diedAt === undefined && points++ === crashAt) diedAt = name()
    if (diedAt !== undefined) throw new StoreUnavailable(`the process died: ${diedAt}`)
  }
  const statements: Plugin = {
    transformQuery({ node }) {
      pass(() => `before ${firstWords(node)}`)
      return node
    },
    transformResult: async ({ result }) => result,
  }

  const faulty: Db = Object.create(db, {
    tables: { value: () => db.tables<unknown>().withPlugin(statements) },
    transaction: {
      async value<Tables, Result>(work: (transaction: Transaction<Tables>) => Promise<Result>, options?: object) {
        const result = await db.transaction<Tables, Result>(async (transaction) => {
          const done = await work(transaction.withPlugin(statements) as Transaction<Tables>)
          pass(() => 'before a commit')
          return done
        }, options)
        pass(() => 'after a commit, before its answer')
        return result
      },
    },
  })
  return {
    db: faulty,
    get points() {
      return points
    },
    get diedAt() {
      return diedAt
    },
    crash({ after }) {
      crashAt = points + after
    },
    restart() {
      points = 0
      crashAt = Number.POSITIVE_INFINITY
      diedAt = undefined
    },
  }
}

function firstWords(node: object): string {
  const fragments = 'sqlFragments' in node ? (node.sqlFragments as readonly string[]) : []
  const text = fragments.join('?').replace(/\s+/g, ' ').trim()
  return text === '' ? (node as { readonly kind: string }).kind : text.slice(0, 60)
}
