/**
 * Looks whether the store is the one that a person has confirmed (`money/controls/store-identity`): at the start, after
 * each reconnection, and every 5 s. It reports and measures the result, and the gates decide by themselves. It keeps a
 * file beside the store with the position in the store's log. By this file an older copy of an embedded store, or of a
 * server's disk, is noticed at the next start.
 */
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import {
  examineStoreBeforeMigrations,
  examineStoreIdentity,
  isOtherStore,
  RESTORED_STORE_PAGE,
  readStoreIdentity,
  type SeenPosition,
  type StoreIdentity,
  unknownParts,
} from '../../money/controls/store-identity.ts'
import type { Clock, Timer } from '../../platform/base/clock.ts'
import { hasCode } from '../../platform/base/error-code.ts'
import type { Log } from '../../platform/base/log.ts'
import { Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { type Db, StoreUnavailable } from '../../platform/store/db.ts'
import { patiently } from '../../platform/store/sql.ts'

export interface StoreIdentityWatchOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly dataFolder: string
  /** Gets where this process last saw the store: what hands out deliveries compares it before the watch does. */
  readonly state?: { seenStore?: SeenPosition | undefined }
}

/** How much log may be lost without being noticed. */
const PERIOD_MILLISECONDS = 5_000
const POSITION = /^[0-9A-F]{1,8}\/[0-9A-F]{1,8}$/

/**
 * Notices a store whose log is behind the noted position before a migration writes to it. A file that cannot be read is
 * left to the watch: `migrate` may run as another user, beside a server's nodes.
 */
export async function noticeOlderStore(db: Db, dataFolder: string): Promise<void> {
  const seen = await readSeen(dataFolder).catch(() => undefined)
  if (seen !== undefined) await patiently(() => examineStoreBeforeMigrations(db, seen))
}

export class StoreIdentityWatch {
  readonly #options: StoreIdentityWatchOptions
  #timer: Timer | undefined
  #looking: Promise<void> = Promise.resolve()
  #isStopped = false
  #isOther = false
  #written: SeenPosition | undefined
  #unlisten: (() => Promise<void>) | undefined

  constructor(options: StoreIdentityWatchOptions) {
    this.#options = options
    const isOther = () => this.#isOther
    new Gauge({
      name: 'tidegate_store_restored',
      help: '1 while deliveries are paused because the store was restored or promoted, until a person resumes them',
      registers: [options.metrics],
      collect() {
        this.set(isOther() ? 1 : 0)
      },
    })
  }

  /** Reads the note, without the store. Must be called before anything hands out deliveries. */
  async prepare(): Promise<void> {
    const { dataFolder, state } = this.#options
    if (state !== undefined) state.seenStore = await readSeen(dataFolder)
  }

  /** Must be called after the migrations. */
  async start(): Promise<void> {
    const { db, log } = this.#options
    const unknown = unknownParts(await this.#examine())
    if (unknown.length > 0) {
      log.warn({ unknown, page: RESTORED_STORE_PAGE }, 'the store does not return its whole identity')
    }
    // Nothing is sent on this channel: the listener is notified when the connection is back.
    const onReconnect = () => this.#look(() => this.#examine())
    this.#unlisten ??= await db.listen('store_identity', { onNotify: () => undefined, onReconnect })
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    await this.#unlisten?.()
    await this.#looking
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = this.#options.clock.schedule(PERIOD_MILLISECONDS, () => {
      this.#look(() => this.#lookAgain())
      void this.#looking.then(() => this.#schedule())
    })
  }

  #look(work: () => Promise<unknown>): void {
    const { db, log } = this.#options
    this.#looking = this.#looking.then(async () => {
      if (this.#isStopped || !db.available) return
      try {
        await work()
      } catch (error) {
        if (error instanceof StoreUnavailable) log.debug({ err: error }, 'the store’s identity was not read')
        else log.warn({ err: error }, 'the store’s identity was not read, or its file not written')
      }
    })
  }

  /** A log that went back is examined against the noted position, which must not be replaced before. */
  async #lookAgain(): Promise<void> {
    const identity = await readStoreIdentity(this.#options.db.tables())
    if (isBehind(identity, this.#written)) await this.#examine()
    else await this.#note(identity)
  }

  async #examine(): Promise<StoreIdentity> {
    const { db, dataFolder } = this.#options
    const seen = await readSeen(dataFolder)
    // Without a file, one that claims nothing: a crash before the store has confirmed itself must not look like a copy.
    if (seen === undefined && (await readStoreIdentity(db.tables())).confirmed === null) {
      await writeSeen(dataFolder, { identity: '', position: '0/0' })
      return await this.#examine()
    }
    return await this.#note(await examineStoreIdentity(db, seen))
  }

  async #note(identity: StoreIdentity): Promise<StoreIdentity> {
    const { log, dataFolder, state } = this.#options
    const { confirmed, present, position } = identity
    const isOther = isOtherStore(identity)
    if (isOther && !this.#isOther) {
      const fields = { confirmed, present, page: RESTORED_STORE_PAGE }
      log.error(fields, 'deliveries are paused: the store was restored or promoted')
    }
    if (!isOther && this.#isOther) log.info({ present }, 'the store was confirmed by a person')
    this.#isOther = isOther
    if (position === null) return identity
    const written = this.#written
    if (written?.identity === present && written.position === position) return identity
    await writeSeen(dataFolder, { identity: present, position })
    this.#written = { identity: present, position }
    if (state !== undefined) state.seenStore = this.#written
    return identity
  }
}

function isBehind({ present, position }: StoreIdentity, written: SeenPosition | undefined): boolean {
  return (
    position !== null && written?.identity === present && positionNumber(position) < positionNumber(written.position)
  )
}

/** A position is two hexadecimal numbers, the upper and lower 32 bits. */
function positionNumber(position: string): bigint {
  const [upper, lower] = position.split('/')
  return (BigInt(`0x${upper}`) << 32n) + BigInt(`0x${lower}`)
}

const pathOf = (dataFolder: string) => join(dataFolder, 'store-position')

/** Undefined: there is no file, or it is not ours. */
async function readSeen(dataFolder: string): Promise<SeenPosition | undefined> {
  let text: string
  try {
    text = await readFile(pathOf(dataFolder), 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  const [identity, position] = text.trimEnd().split(' ')
  if (identity === undefined || position === undefined || !POSITION.test(position)) return undefined
  return { identity, position }
}

/** Replaces the file. A power loss leaves the old or the new one. */
async function writeSeen(dataFolder: string, { identity, position }: SeenPosition): Promise<void> {
  const path = pathOf(dataFolder)
  const draft = `${path}.new`
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(`${identity} ${position}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}
