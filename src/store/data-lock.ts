/**
 * The lock of a data folder: the embedded store loses rows when two processes open its files, and does not notice. One
 * process holds `<folder>/lock`; a holder that is dead is replaced. It never waits for a living holder. It sees the
 * processes of one machine (one PID namespace): a folder shared between machines or containers is not protected.
 */
import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What the lock file says about its holder. */
interface Holder {
  readonly pid: number
  /** When the lock was taken, RFC 3339. */
  readonly started: string
  /** Name of that process, and when it began in ticks since the boot; empty where the system does not tell. */
  readonly process_start: string
  /** Makes every lock file different from every other. */
  readonly nonce: string
}

export interface DataLock {
  /** Gives the folder back. Does nothing when the lock is not ours any more. */
  release(): Promise<void>
}

/** Somebody else holds the folder, or is about to. */
export class DataFolderHeld extends Error {
  override name = 'DataFolderHeld'
  readonly pid: number

  constructor(folder: string, pid: number) {
    super(`the data folder ${folder} is in use by process ${pid}`)
    this.pid = pid
  }
}

/** Rounds of replacing a dead holder before giving up; each round lost means that somebody else got further. */
const ROUNDS_MAX = 100

/** Takes the folder, which is created for its owner alone when missing; a living holder is a `DataFolderHeld`. */
export async function acquireDataLock(folder: string): Promise<DataLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'lock')
  const holder: Holder = {
    pid: process.pid,
    started: new Date().toISOString(),
    process_start: (await processStart(process.pid)) ?? '',
    nonce: randomUUID(),
  }
  const text = `${JSON.stringify(holder)}\n`
  // Complete before it has its name, so that nobody ever reads half a lock.
  const draft = join(folder, `lock.${holder.nonce}`)
  await writeFile(draft, text, { flag: 'wx', mode: 0o600 })
  try {
    await take(folder, path, draft)
  } finally {
    await rm(draft, { force: true })
  }
  return {
    async release() {
      if ((await readIfPresent(path)) === text) await rm(path, { force: true })
    },
  }
}

/** The living process that holds the folder; undefined when nobody does. Takes nothing. */
export async function dataFolderHolder(folder: string): Promise<number | undefined> {
  const present = await readIfPresent(join(folder, 'lock'))
  return present === undefined ? undefined : await livingHolder(present)
}

/**
 * Gives the file at `path` the content of `draft`, unless a living process holds it. A dead holder may be replaced only
 * by the one who holds the claim on exactly that holder: a lock file of its own, taken by this same function. Once it
 * is held, the lock either still names the dead one, and nobody else may touch it, or was replaced in the meantime.
 */
async function take(folder: string, path: string, draft: string): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (await linkIfAbsent(draft, path)) return
    const present = await readIfPresent(path)
    if (present === undefined) continue
    const alivePid = await livingHolder(present)
    if (alivePid !== undefined) throw new DataFolderHeld(folder, alivePid)
    const claim = join(folder, `lock.claim-${createHash('sha256').update(present).digest('hex').slice(0, 32)}`)
    await take(folder, claim, draft)
    try {
      if ((await readIfPresent(path)) === present) {
        // The name `draft` goes with the renaming; a second link to the same file keeps the claim in place until then.
        const replacement = `${draft}.replacement`
        await link(draft, replacement)
        await rename(replacement, path)
        return
      }
    } finally {
      await rm(claim, { force: true })
    }
  }
  throw new Error(`the lock of ${folder} changed hands ${ROUNDS_MAX} times while it was being taken`)
}

async function linkIfAbsent(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** The process that holds this lock file; undefined when it is dead, or when the file is none that we wrote. */
async function livingHolder(text: string): Promise<number | undefined> {
  let holder: Partial<Holder> | null
  try {
    holder = JSON.parse(text) as Partial<Holder> | null
  } catch {
    // A file cut off by a loss of power: its writer is gone.
    return undefined
  }
  const pid = holder?.pid
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0 || !exists(pid)) return undefined
  // A number is given to a new process after a while: the holder is the one that began when the lock says.
  const start = await processStart(pid)
  const known = holder?.process_start
  return start === undefined || known === '' || known === start ? pid : undefined
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It exists and belongs to another user.
    if (hasCode(error, 'EPERM')) return true
    if (hasCode(error, 'ESRCH')) return false
    throw error
  }
}

/**
 * Name and start of a process from `/proc` (proc(5)); `ended` when only its exit code is left. The boot's id is not part
 * of it: inside a container or a service's own mount namespace the same boot can have another one, and a living holder
 * would be taken for dead.
 */
async function processStart(pid: number): Promise<string | undefined> {
  const stat = await readIfPresent(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The second field, the name in brackets, may hold anything; after its last bracket come the state and 19 numbers.
  const end = stat.lastIndexOf(')')
  const fields = stat.slice(end + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${stat.slice(stat.indexOf('(') + 1, end)}:${fields[19]}`
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
