/**
 * All code of this module locks in one order, which `tables` states. Two transactions that meet wait for each other in caller,
 * never in a circle: each of them is stopped after each of its statements, while each other one comes as far as it can. The
 * embedded store has one session.
 */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { requestChange } from '../../../src/access/operators/change-requests.ts'
import { useCode } from '../../../src/access/operators/password-check.ts'
import { endSessions, openSession } from '../../../src/access/operators/sessions.ts'
import {
  confirmLink,
  createAuthenticatorLink,
  createLink,
  enterPassword,
  lockFirstLink,
} from '../../../src/access/operators/setup-links.ts'
import { changeOperator, deleteLink, lockPerson, resetOperator } from '../../../src/access/operators/store.ts'
import type { OperatorTables } from '../../../src/access/operators/tables.ts'
import type { OperatorRole } from '../../../src/contract/operator-calls.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { Problem } from '../../../src/platform/http/problem.ts'
import type { Db, Transaction } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { Random } from '../../support/random.ts'
import { openTestStore } from '../../support/test-store.ts'
import { codeOfStep } from './operator-node.ts'

type Work = (transaction: Transaction<OperatorTables>) => Promise<unknown>

/** A person with a password, an identity at an issuer, an open link that waits for its code, and sessions that have ended. */
interface MetOperator {
  readonly id: string
  readonly name: string
  readonly link: string
  readonly code: string
}

const NOW = Date.parse('2026-11-23T12:00:00Z')
const STEP = Math.floor(NOW / 30_000)
const ISSUER = 'https://issuer.test/'
const PASSWORD = 'stored'
const CHANGER = { actor: 'operator:ada', issuers: [] }
const isLong = process.env.TIDEGATE_LONG === '1'
const SEED = 20_261_123
const ROUNDS = 60
/** More than the longest transaction has: such a round has no stop. */
const STATEMENTS_MAX = 12

const role: OperatorRole = 'viewer'
const confirm = ({ link, code }: Pick<MetOperator, 'link' | 'code'>) => {
  const work: Work = async (transaction) => {
    const operator = await confirmLink(transaction, link, code, undefined, NOW)
    // The code is not that of the secret any more.
    if (operator === undefined) return
    await openSession(transaction, operator, { clientAddress: '127.0.0.1', way: 'setup_link' }, NOW)
  }
  return work
}
const bind = ({ name }: MetOperator, other: MetOperator): Work => {
  return (transaction) => changeOperator(transaction, CHANGER, name, { openid: { issuer: ISSUER, subject: other.id } })
}
const checked = ({ id }: MetOperator) => ({ id, password: PASSWORD, step: STEP })

/** What people and admins do at the same moment. */
const WORKS: Readonly<
  Record<string, (a: MetOperator, b: MetOperator, first: Pick<MetOperator, 'link' | 'code'>) => Work>
> = {
  'confirms the link': (a) => confirm(a),
  'confirms the link of another operator': (_, b) => confirm(b),
  'enters a password with the link': (a) => (transaction) =>
    enterPassword(transaction, a.link, { name: undefined, password: PASSWORD }, undefined, NOW),
  'is reset': (a) => async (transaction) => {
    await lockPerson(transaction, a.name)
    await resetOperator(transaction, CHANGER, a.name)
    await createLink(transaction, a.id, NOW)
  },
  'gets the identity of another operator': (a, b) => bind(a, b),
  'gives the identity to another operator': (a, b) => bind(b, a),
  'is disabled': (a) => (transaction) => changeOperator(transaction, CHANGER, a.name, { enabled: false }),
  'signs in': (a) => async (transaction) => {
    const operator = await useCode(transaction, checked(a), {})
    if (operator === undefined) return
    await openSession(transaction, operator, { clientAddress: '127.0.0.1', way: 'password' }, NOW)
  },
  'changes the password': (a) => async (transaction) => {
    if ((await useCode(transaction, checked(a), { password: 'other' })) === undefined) return
    await deleteLink(transaction, a.id)
    await endSessions(transaction, a.id)
  },
  'replaces the authenticator': (a) => async (transaction) => {
    const operator = await useCode(transaction, checked(a), {})
    if (operator === undefined) return
    await createAuthenticatorLink(transaction, { ...operator, password: PASSWORD }, undefined, NOW)
  },
  'confirms the link of the first admin': (_a, _b, first) => confirm(first),
  'renews the link of the first admin': () => async (transaction) => {
    await lockFirstLink(transaction)
    await createLink(transaction, null, NOW)
  },
  'requests a change': (a) => (transaction) => {
    const call = {
      kind: 'controls',
      call: 'PATCH /controls',
      params: {},
      body: {},
      subject: a.id,
      comment: 'why',
    } as const
    return requestChange(
      transaction,
      { name: a.name, role: 'admin', ...CHANGER },
      call,
      { record: null, credential_hash: null, encryptionKey: undefined },
      NOW,
    )
  },
}

const names = Object.keys(WORKS)
const meetings = names.flatMap((first) =>
  names.flatMap((second) =>
    Array.from({ length: STATEMENTS_MAX }, (_, index) => ({ first, second, statements: index + 1 })),
  ),
)

describe.skipIf(inject('engine') === 'embedded')('transactions that meet at operators (needs PostgreSQL)', () => {
  let db: Db
  beforeAll(async () => {
    db = await openTestStore({ log: captureLog().log })
  })
  afterAll(() => db?.close())

  const transact = (work: Work) =>
    db.transaction<OperatorTables, unknown>(work, { statementMillisecondsMax: 60_000 }).catch((error) => {
      // Who comes second may find nothing to do.
      if (!(error instanceof Problem)) throw error
    })

  async function addOperator(name: string): Promise<MetOperator> {
    const id = newId()
    await sql`
      insert into operators (id, name, role, password, totp_secret, issuer, issuer_subject)
      values (${id}, ${name}, ${role}, ${PASSWORD}, 'unused', ${ISSUER}, ${id})
    `.execute(db.tables())
    await sql`
      insert into operator_sessions (hash, operator_id, used_at, expires_at)
      select uuid_send(gen_random_uuid()), ${id}, ${new Date(NOW - 3_600_000)}, ${new Date(NOW)} from generate_series(1, 3)
    `.execute(db.tables())
    await sql`
      insert into change_requests (id, kind, call, params, body, subject, requested_by, status, expires_at)
      values (gen_random_uuid(), 'controls', 'PATCH /controls', '{}', '{}', ${id}, ${name}, 'PENDING', ${new Date(NOW)})
    `.execute(db.tables())
    return { id, name, ...(await addLink(id)) }
  }

  async function addLink(operatorId: string | null): Promise<Pick<MetOperator, 'link' | 'code'>> {
    return await db.transaction<OperatorTables, Pick<MetOperator, 'link' | 'code'>>(async (transaction) => {
      const { token } = await createLink(transaction, operatorId, NOW)
      const name = operatorId === null ? `admin-${newId()}` : undefined
      const entered = await enterPassword(transaction, token, { name, password: PASSWORD }, undefined, NOW)
      return { link: token, code: codeOfStep(entered.secret, STEP) }
    })
  }

  /** The first one stops after some statements, the second one comes as far as it can, and the first one continues. */
  async function meet(first: Work, second: Work, statements: number): Promise<void> {
    const [stopped, met] = [signal(), signal()]
    let count = 0
    const going = transact((transaction) =>
      first(
        transaction.withPlugin({
          transformQuery: ({ node }) => node,
          async transformResult({ result }) {
            if (++count === statements) {
              stopped.give()
              await met.given
            }
            return result
          },
        }) as Transaction<OperatorTables>,
      ),
    )
    await Promise.race([stopped.given, going])
    let pid = 0
    const coming = transact(async (transaction) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(transaction)
      pid = rows[0]?.pid ?? 0
      await second(transaction)
    })
    let isOver = false
    const over = coming.finally(() => {
      isOver = true
    })
    const waits = async () => {
      const { rows } = await sql<{ is: boolean }>`
        select cardinality(pg_blocking_pids(${pid}::integer)) > 0 as is
      `.execute(db.tables())
      return isOver || rows[0]?.is
    }
    await expect.poll(waits, { interval: 2 }).toBe(true)
    met.give()
    await Promise.all([going, over])
  }

  it('transactions that meet at operators do not wait in a circle', async () => {
    const random = new Random(SEED)
    const rounds = isLong ? meetings : Array.from({ length: ROUNDS }, () => random.pick(meetings))
    const failures: string[] = []
    for (const [index, { first, second, statements }] of rounds.entries()) {
      // One admin at a time can be the first.
      await sql`update operators set enabled = false, last_login_at = null where role = 'admin' and is_person`.execute(
        db.tables(),
      )
      const [a, b, link] = [await addOperator(`a${index}`), await addOperator(`b${index}`), await addLink(null)]
      const works = [first, second].map((name) => WORKS[name]?.(a, b, link) as Work)
      await meet(works[0] as Work, works[1] as Work, statements).catch((error) => {
        failures.push(`${first}, ${second}, after ${statements} statements: ${error}`)
      })
    }
    expect(failures).toEqual([])
  })

  it.each([
    ['is reset', 'confirms the link'],
    ['confirms the link', 'is reset'],
  ])(
    "a reset operator cannot sign in, and the reset's link stays open, in the order: %s, %s",
    async (first, second) => {
      for (let statements = 1; statements <= STATEMENTS_MAX; statements++) {
        const a = await addOperator(`${first.replaceAll(' ', '-')}-${statements}`)
        const [one, two] = [first, second].map((name) => WORKS[name]?.(a, a, a) as Work)
        await meet(one as Work, two as Work, statements)
        const { rows } = await sql`
        select password is null as reset, (select count(*) from operator_setup_links where operator_id = operators.id) as links
        from operators where id = ${a.id}
      `.execute(db.tables())
        // Whichever was first: the operator cannot sign in, and the link of the reset is open.
        expect(rows).toEqual([{ reset: true, links: '1' }])
      }
    },
  )
})

/** A promise and what settles it. */
function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}
