/**
 * The embedded store's file system, with a working `fsync`. PGlite runs PostgreSQL on Emscripten's NODEFS, where
 * `fsync` succeeds without doing anything. This class syncs files and folders. A folder whose names have changed is
 * synced with the next file sync, because PostgreSQL leaves that to the file system. After the first failure that
 * aborts PostgreSQL it rejects every change, because PGlite ignores the abort and would continue with an inconsistent
 * memory. It uses non-public parts of PGlite, so PGlite's version is pinned, and `init` throws when one is missing.
 */
import { fsyncSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite, protocol, type Results } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { syncPath } from './folder-sync.ts'
import { FLUSH_TEXT } from './group-commit.ts'

/**
 * PGlite's own parameters without `-F`, which switches syncs off. Emscripten has no `fdatasync`, so the log uses
 * `fsync`. 16 MB shared buffers instead of 128: they are all resident from the start, and other pages are in the
 * system's cache. `max_wal_size` limits the log that a checkpoint keeps for reuse. It starts no checkpoint in PGlite.
 */
const START_PARAMETERS = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['fsync=on', 'full_page_writes=on', 'wal_sync_method=fsync', 'shared_buffers=16MB', 'max_wal_size=256MB'].flatMap(
    (one) => ['-c', one],
  ),
]
const DURABLE_SETTINGS = { fsync: 'on', full_page_writes: 'on', wal_sync_method: 'fsync', synchronous_commit: 'on' }

/** Emscripten's EIO number. */
const EIO = 29
/** The status with which PGlite leaves PostgreSQL's main loop after an ordinary statement error. */
const ORDINARY_ERROR_STATUS = 100
const LOG_SEGMENT = /(?<=\/pg_wal\/)[0-9A-F]{24}$/
/** The operations changing the disk. */
const CHANGES = new Set(['fsync', 'write', 'msync', 'mknod', 'rename', 'unlink', 'rmdir', 'symlink', 'setattr'])

export type { PGlite, Results }
export { protocol }

type Operation = (...parameters: never[]) => unknown
type Operations = Record<string, Operation>

interface FileNode {
  readonly mode: number
  readonly parent: FileNode
}

interface OpenFile {
  readonly node: FileNode
  readonly path: string
  /** The host's file descriptor. */
  readonly nfd: number
}

/** The used parts of Emscripten's module, which PGlite's types do not contain. */
interface EmscriptenModule {
  readonly NODEFS?: {
    readonly stream_ops: Operations
    readonly node_ops: Operations
    realPath(node: FileNode): string
  }
  readonly FS: {
    readonly ErrnoError: new (errno: number) => Error & { readonly errno?: number }
    isDir(mode: number): boolean
  }
  _PostgresMainLoopOnce?: () => unknown
}

type EmscriptenOptions = Awaited<ReturnType<NodeFS['init']>>['emscriptenOpts']

export class DurableFiles extends NodeFS {
  /** Log syncs since the start, by which the self-test verifies that a commit reaches the disk. */
  logSyncs = 0
  /** Names of the log segments opened since the last checkpoint: new files, and old ones renamed. */
  readonly #newLogSegments = new Set<string>()
  readonly #onFailure: (error: unknown) => void
  readonly #changedFolders = new Set<string>()
  #hasFailed = false

  /** @param onFailure called once, within the failed operation: it must end the thread before any answer */
  constructor(folder: string, onFailure: (error: unknown) => void) {
    super(folder)
    this.#onFailure = onFailure
  }

  /** Log segments, 16 MB each, begun since the last checkpoint. After a start the one in use counts too. */
  get newLogSegments(): number {
    return this.#newLogSegments.size
  }

  /** Must be called after a checkpoint: recovery does not read older segments. */
  checkpointed(): void {
    this.#newLogSegments.clear()
  }

  override async init(pg: PGlite, options: EmscriptenOptions): Promise<{ emscriptenOpts: EmscriptenOptions }> {
    // A crash may leave it empty, and PostgreSQL would not start. The data lock protects the folder instead.
    rmSync(join(this.rootDir, 'postmaster.pid'), { force: true })
    const { emscriptenOpts } = await super.init(pg, options)
    const add = (module: unknown): void => this.#addSync(module as EmscriptenModule)
    emscriptenOpts.preRun = [add, ...[emscriptenOpts.preRun ?? []].flat()]
    emscriptenOpts.onAbort = (reason: unknown) => this.#fail(new Error(`PostgreSQL aborted: ${reason}`))
    return { emscriptenOpts }
  }

  /** PGlite calls this once, when its module is complete and nothing has run yet. */
  override async initialSyncFs(): Promise<void> {
    const module = this.pg?.Module as unknown as EmscriptenModule
    const loopOnce = module._PostgresMainLoopOnce
    if (loopOnce === undefined) throw new Error('this version of PGlite has no _PostgresMainLoopOnce')
    module._PostgresMainLoopOnce = () => {
      try {
        return loopOnce()
      } catch (error) {
        if ((error as { status?: number } | null)?.status !== ORDINARY_ERROR_STATUS) this.#fail(error)
        throw error
      }
    }
  }

  #addSync({ NODEFS, FS }: EmscriptenModule): void {
    const files = NODEFS?.stream_ops
    const names = NODEFS?.node_ops
    if (NODEFS === undefined || !files?.open || !files.write || !names?.mknod || files.fsync) {
      throw new Error('this version of PGlite has another NODEFS')
    }
    files.fsync = (file: OpenFile) => {
      this.#syncChangedFolders()
      fsyncSync(file.nfd)
      if (!FS.isDir(file.node.mode) && file.path.includes('/pg_wal/')) this.logSyncs++
      return 0
    }
    const noteChange = (name: string, foldersOf: (...parameters: FileNode[]) => FileNode[]): void => {
      const operation = names[name] as (...parameters: FileNode[]) => unknown
      names[name] = ((...parameters: FileNode[]) => {
        for (const folder of foldersOf(...parameters)) this.#changedFolders.add(NODEFS.realPath(folder))
        return operation(...parameters)
      }) as Operation
    }
    for (const name of ['mknod', 'symlink', 'unlink', 'rmdir']) noteChange(name, (parent) => [parent as FileNode])
    noteChange('rename', (node, newParent) => [(node as FileNode).parent, newParent as FileNode])
    const { open } = files as { open: (file: OpenFile) => unknown }
    files.open = (file: OpenFile) => {
      // PostgreSQL opens a segment when it begins to write it, also one that a checkpoint has kept for reuse.
      const [segment] = LOG_SEGMENT.exec(file.path) ?? []
      if (segment !== undefined) this.#newLogSegments.add(segment)
      return open(file)
    }
    // PostgreSQL would see an error without a number as success, and would not see one that is not Emscripten's.
    for (const operations of [files, names]) {
      for (const [name, operation] of Object.entries(operations)) {
        operations[name] = (...parameters) => {
          if (this.#hasFailed && CHANGES.has(name)) throw new FS.ErrnoError(EIO)
          try {
            return operation(...parameters)
          } catch (error) {
            if (error instanceof FS.ErrnoError && error.errno) throw error
            this.#fail(error)
            throw new FS.ErrnoError(EIO)
          }
        }
      }
    }
  }

  #syncChangedFolders(): void {
    for (const folder of this.#changedFolders) {
      syncPath(folder)
      this.#changedFolders.delete(folder)
    }
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#onFailure(error)
  }
}

/**
 * Opens the database on these files. An empty or missing folder becomes a new one.
 * @param onLine called with each line in PostgreSQL's own log
 */
export async function openDurably(
  files: DurableFiles,
  onLine: (line: string) => void = () => undefined,
): Promise<PGlite> {
  const opened = await PGlite.create({
    fs: files,
    startParams: START_PARAMETERS,
    onStderr(line) {
      onLine(line)
      return false
    },
  })
  // Recovery and a clean shutdown end with a checkpoint.
  files.checkpointed()
  return opened
}

/** The self-test at each start: a commit will be synced, and a sync reaches the disk. */
export async function requireDurability(opened: PGlite, files: DurableFiles): Promise<void> {
  for (const [name, wanted] of Object.entries(DURABLE_SETTINGS)) {
    const { rows } = await opened.query<{ value: string }>(`select current_setting('${name}') as value`)
    if (rows[0]?.value !== wanted) throw new Error(`the embedded store runs with ${name} = ${rows[0]?.value}`)
  }
  const before = files.logSyncs
  await opened.exec(FLUSH_TEXT)
  if (files.logSyncs === before) throw new Error('a flush of the embedded store’s log does not reach the disk')
}
