/**
 * The first admin's setup link, in the data folder's file `console-setup`, which only the process's user can read. The
 * start creates it while no admin can sign in, and names only the file. The file is removed after its link has been
 * used, and at a start when it is no longer valid. Among several nodes, only the first to start has a link, which is
 * valid on all.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createLink, hasAdmin, hasFirstLink, lockFirstLink, type NewLink } from '../../access/operators/setup-links.ts'
import type { Changer } from '../../access/operators/store.ts'
import type { OperatorTables } from '../../access/operators/tables.ts'
import type { Clock } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { readOrCreatePrivateFile } from './private-file.ts'

export interface ConsoleSetupOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  /** The data folder. */
  readonly folder: string
  /** The link's address with a token. */
  linkAddress(token: string): string
}

/** The actor in the audit trail for a link that no operator requested. */
const SERVICE = 'service'

export class ConsoleSetup {
  readonly #options: ConsoleSetupOptions
  readonly #file: string

  constructor(options: ConsoleSetupOptions) {
    this.#options = options
    this.#file = join(options.folder, 'console-setup')
  }

  /** To be called at the start, when the store has its schema. */
  async prepare(): Promise<void> {
    const { db, log } = this.#options
    const token = this.#present()
    const isHere = await db.transaction<OperatorTables, boolean>(async (transaction) => {
      await lockFirstLink(transaction)
      const now = this.#now()
      if (await hasAdmin(transaction)) return false
      if (token !== undefined && (await hasFirstLink(transaction, now, token))) return true
      // The link is in another node's data folder.
      if (await hasFirstLink(transaction, now)) return false
      // Before the commit: a stored link without its file would keep every start from making another for a day.
      this.#write(await this.#create(transaction, { actor: SERVICE, issuers: [] }))
      return true
    })
    if (!isHere) return this.remove()
    log.info({ file: this.#file }, 'no admin has been set up: the link in this file does it, once')
  }

  /** Replaces the link, in the file and everywhere. */
  async renew(changer: Changer): Promise<NewLink & { readonly file: string }> {
    const link = await this.#options.db.transaction<OperatorTables, NewLink>(async (transaction) => {
      await lockFirstLink(transaction)
      if (!(await hasAdmin(transaction))) return await this.#create(transaction, changer)
      throw new Problem('invalid_state', 'an admin has been set up: create and reset operators instead', {
        meta: { current: 'has_admin' },
      })
    })
    this.#write(link)
    return { ...link, file: this.#file }
  }

  /** Removes the file: its link has been used. */
  remove(): void {
    rmSync(this.#file, { force: true })
  }

  async #create(transaction: Transaction<OperatorTables>, { actor, issuers }: Changer): Promise<NewLink> {
    const entry = { actor, action: 'operator.setup_link', subject: 'first admin', detail: {} }
    await writeAudit(transaction, entry)
    return await createLink(transaction, null, this.#now(), issuers)
  }

  #write({ token }: NewLink): void {
    this.remove()
    readOrCreatePrivateFile(this.#file, () => `${this.#options.linkAddress(token)}\n`)
  }

  /** The token in the file. */
  #present(): string | undefined {
    if (!existsSync(this.#file)) return undefined
    return /#setup=(\S+)/.exec(readFileSync(this.#file, 'utf8'))?.[1]
  }

  #now(): number {
    return this.#options.clock.wallInstant().milliseconds
  }
}
