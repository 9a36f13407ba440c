/**
 * The lock of a data folder. Two processes on one embedded store lose acknowledged writes without noticing, so one
 * process holds the folder at a time. `<folder>/lock` names the holder, and the holder listens on a UNIX socket beside
 * it. The kernel closes that socket when the process ends, however it ends, and a process in another container that
 * mounts the same folder can connect to it, while process numbers differ between PID namespaces. Each attempt has its own
 * socket, which listens before the lock file that names it exists.
 *
 * Whether a lock file is in force is decided in this order:
 * - A process accepts a connection on its socket, or connecting fails for a reason other than those below: held.
 * - No process listens, and the holder ran on this machine: it is dead, and is replaced. The machine is the same when the
 *   host name is, and either the boot is or the file system can be mounted by only one kernel at a time.
 * - No process listens, and the holder ran elsewhere: held, because a socket cannot be reached from another machine. Only
 *   `takeOver` replaces it.
 * Where the file system has no UNIX sockets, and for the lock file of an earlier version, the process number decides
 * instead, which protects within one PID namespace only.
 *
 * It never waits for a holder. A holder whose lock was taken by `takeOver` while it was alive does not notice.
 */
import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { hasCode } from '../base/error-code.ts'
import type { Log } from '../base/log.ts'
import { type LockSocket, listenOnSocket, probeSocket, socketName } from './lock-socket.ts'

/** The lock file's content. Earlier versions wrote only `pid`, `started`, `process_start` and `nonce`. */
interface Holder {
  readonly pid: number
  /** When the lock was taken, RFC 3339. */
  readonly started: string
  /** The process's name and its start in clock ticks since boot. Empty where the system does not report it. */
  readonly process_start: string
  readonly host: string
  /** The kernel's. Empty where the system does not report it. */
  readonly boot_id: string
  /** Whether it listens on a socket. False where the file system has none. */
  readonly has_socket: boolean
  /** A UUID, which makes every lock file unique and names the socket. */
  readonly nonce: string
}

export interface DataLock {
  /** Releases the folder. Does nothing when another process has replaced the lock. */
  release(): Promise<void>
}

export interface DataLockOptions {
  readonly log: Log
  /** Replaces a holder on another machine that cannot be reached. A holder that is known to live is never replaced. */
  readonly takeOver?: boolean
}

/** The process holding a folder, as far as its lock file names it. */
export interface FolderHolder {
  readonly pid: number
  /** Empty: an earlier version that did not record it. */
  readonly host: string
  readonly started: string
  /** It ran on another machine and no process listens on its socket: it may be dead. */
  readonly isElsewhere: boolean
}

/** Another process holds the folder, or is about to. */
export class DataFolderHeld extends Error {
  override name = 'DataFolderHeld'
  readonly holder: FolderHolder

  constructor(folder: string, holder: FolderHolder) {
    super(`the data folder ${folder} is in use by ${holderText(holder)}`)
    this.holder = holder
  }
}

/** Attempts to replace a dead holder. Each failed one means: another process succeeded. */
const ROUNDS_MAX = 100

/**
 * File systems that one kernel mounts at a time, by their magic number (statfs(2)): ext2 to ext4, XFS, Btrfs, F2FS,
 * Bcachefs, ZFS, tmpfs, overlay. A process from another boot that used such a folder has ended.
 */
const LOCAL_FILE_SYSTEMS = [0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0xca451a4e, 0x2fc12fc1, 0x01021994, 0x794c7630]

/** Locks the folder, which is created for its owner alone when missing. Fails with `DataFolderHeld`. */
export async function acquireDataLock(folder: string, options: DataLockOptions): Promise<DataLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'lock')
  const nonce = randomUUID()
  const socket = await listenOnSocket(folder, nonce, options.log)
  const holder: Holder = {
    pid: process.pid,
    started: new Date().toISOString(),
    process_start: (await processStart(process.pid)) ?? '',
    host: hostname(),
    boot_id: await bootId(),
    has_socket: socket !== undefined,
    nonce,
  }
  const text = `${JSON.stringify(holder)}\n`
  // Written before it gets its name, so no process reads a partial lock file.
  const draft = join(folder, `lock.${nonce}`)
  try {
    await writeFile(draft, text, { flag: 'wx', mode: 0o600 })
    await take({ folder, draft, ...options }, path)
  } catch (error) {
    await socket?.close()
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  return { release: () => release(path, text, socket) }
}

/** The folder's holder, or undefined when it is free. Does not lock it. */
export async function dataFolderHolder(folder: string): Promise<FolderHolder | undefined> {
  const present = await readIfPresent(join(folder, 'lock'))
  return present === undefined ? undefined : await presentHolder(folder, present)
}

/** `process 12 on host a, since 2026-01-01T00:00:00Z`, followed by the remedy. */
function holderText({ pid, host, started, isElsewhere }: FolderHolder): string {
  const since = started === '' ? '' : `, since ${started}`
  const remedy = 'stop it, or give this process its own folder with --data_dir'
  if (!isElsewhere) return `process ${pid}${host === '' ? '' : ` on host ${host}`}${since}: ${remedy}`
  return (
    `process ${pid} on another host, ${host || 'without a name'}${since}, and no process answers there: ` +
    'when that process has certainly ended, start once with --take-over'
  )
}

async function release(path: string, text: string, socket: LockSocket | undefined): Promise<void> {
  // No process replaces the file while the socket listens, so it is still ours when it is removed.
  if ((await readIfPresent(path)) === text) await rm(path, { force: true })
  await socket?.close()
}

interface Attempt extends DataLockOptions {
  readonly folder: string
  /** A file with the lock's future content. */
  readonly draft: string
}

/**
 * Gives the file at `path` the draft's content, unless it is held. A dead holder is replaced only under a claim on
 * exactly that holder, which is itself a lock file, acquired by this same function. Under the claim the lock file
 * either still names the dead holder, and no other process may change it, or was replaced before.
 */
async function take(attempt: Attempt, path: string): Promise<void> {
  const { folder, draft, log, takeOver = false } = attempt
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (await linkIfAbsent(draft, path)) return
    const present = await readIfPresent(path)
    if (present === undefined) continue
    const holder = await presentHolder(folder, present)
    if (holder !== undefined && !(holder.isElsewhere && takeOver)) throw new DataFolderHeld(folder, holder)
    const claim = join(folder, `lock.claim-${createHash('sha256').update(present).digest('hex').slice(0, 32)}`)
    await take(attempt, claim)
    try {
      if ((await readIfPresent(path)) === present) {
        // Renaming removes a name, and the claim needs `draft` until the end, so a second link is renamed.
        const replacement = `${draft}.replacement`
        await link(draft, replacement)
        await rename(replacement, path)
        if (holder !== undefined) log.warn({ folder, ...holder }, 'the data folder was taken over from another host')
        await removeSocket(folder, present)
        return
      }
    } finally {
      await rm(claim, { force: true })
    }
  }
  throw new Error(`the lock of ${folder} changed its holder ${ROUNDS_MAX} times while it was being taken`)
}

/** Removes a dead process's socket file, which the kernel does not remove. */
async function removeSocket(folder: string, text: string): Promise<void> {
  const name = socketName(parseHolder(text)?.nonce)
  if (name !== undefined) await rm(join(folder, name), { force: true })
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

/** The holder in a lock file. Undefined for a file truncated by a power loss: its process has ended. */
function parseHolder(text: string): Partial<Holder> | undefined {
  try {
    return (JSON.parse(text) as Partial<Holder> | null) ?? undefined
  } catch {
    return undefined
  }
}

/** This lock file's holder. Undefined when that process is dead, or when the file is not a lock file. */
async function presentHolder(folder: string, text: string): Promise<FolderHolder | undefined> {
  const holder = parseHolder(text)
  if (!isProcessNumber(holder?.pid)) return undefined
  const { pid, host = '', started = '' } = holder as Partial<Holder> & { readonly pid: number }
  const living = { pid, host, started, isElsewhere: false }
  const socket = holder?.has_socket === true ? socketName(holder.nonce) : undefined
  const answer = socket === undefined ? 'absent' : await probeSocket(folder, socket)
  if (answer === 'listening') return living
  if (!(await isOfThisMachine(folder, holder))) return { ...living, isElsewhere: true }
  if (answer === 'refused') return undefined
  // There is no socket: the file system has none, an earlier version wrote the file, or the socket was removed.
  return (await isSameProcess(pid, holder?.process_start)) ? living : undefined
}

function isProcessNumber(pid: number | undefined): boolean {
  return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0
}

/** Whether the holder ran on this machine, so this process can find out whether it lives. */
async function isOfThisMachine(folder: string, holder: Partial<Holder> | undefined): Promise<boolean> {
  // Earlier versions recorded no host and used the process number alone.
  if (holder?.host === undefined) return true
  if (holder.host !== hostname()) return false
  return holder.boot_id === (await bootId()) || LOCAL_FILE_SYSTEMS.includes((await statfs(folder)).type)
}

/** Whether the process with this number started at the recorded time: numbers are reused. */
async function isSameProcess(pid: number, knownStart: string | undefined): Promise<boolean> {
  if (!exists(pid)) return false
  const start = await processStart(pid)
  return start === undefined || knownStart === '' || knownStart === start
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

/** A process's name and start from `/proc` (proc(5)). `ended` for a zombie, undefined when there is no such process. */
async function processStart(pid: number): Promise<string | undefined> {
  const stat = await readIfPresent(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The second field, the name in brackets, may contain any character. The fields after its last bracket begin with the
  // state.
  const end = stat.lastIndexOf(')')
  const fields = stat.slice(end + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : `${stat.slice(stat.indexOf('(') + 1, end)}:${fields[19]}`
}

/** Unique to each kernel boot, and shared by its containers. Empty where the system does not report it. */
async function bootId(): Promise<string> {
  return (await readIfPresent('/proc/sys/kernel/random/boot_id'))?.trim() ?? ''
}
