/**
 * The lifecycle of the embedded store's thread: start, one request at a time, restart when it exits or does not answer.
 * PGlite cannot cancel a statement, so a timeout ends the thread and a new one opens the same folder, as after a crash:
 * committed transactions are kept, the open one is lost. Lack of disk space, memory or file descriptors also ends the
 * thread. The next one is started when they are available. It never repeats a statement, and never runs two threads on
 * one folder.
 */
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { assert } from '../base/assert.ts'
import { backoff } from '../base/backoff.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { startThread } from '../base/thread.ts'
import { untilAborted, wait, withTimeLimit } from '../base/time-limit.ts'
import type { Outcomes } from './caller-connection.ts'
import { isCorrupt } from './corruption.ts'
import { StatementFailed, StoreCorrupt, StoreTooSlow, StoreUnavailable } from './db.ts'
import type { WorkerAnswer, WorkerFailure, WorkerMessage, WorkerRequest, WorkerStart } from './embedded-worker.ts'
import { syncFoldersAbove, syncTree } from './folder-sync.ts'
import {
  CLOSE_MILLISECONDS_MAX,
  FREE_BYTES_MIN,
  PROBE_BYTES,
  RESTART_MILLISECONDS,
  START_MILLISECONDS_MAX,
} from './limits.ts'
import { copyTemplate } from './store-template.ts'

export interface EngineListener {
  onNotification(channel: string, payload: string): void
  /** Called when the thread is lost, with every unflushed commit. */
  onLost(reason: string): void
  /** Called when a new thread is ready. It listens on the channels in `channels`. */
  onRestart(): void
  /** The channels on which a new thread listens. */
  channels(): readonly string[]
}

export interface EngineOptions {
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  readonly listener: EngineListener
}

interface Pending {
  readonly resolve: (result: Outcomes) => void
  readonly timer: Timer
}

/** One thread instance. A connection belongs to it and fails when it is no longer the current one. */
export type EngineLife = Worker

export class EmbeddedEngine {
  readonly #options: EngineOptions
  #life: Worker | undefined
  #pending: Pending | undefined
  #closing = false
  /** Settles with the next state: a ready thread, or closed. */
  #restarting: Promise<void> | undefined
  /** Settles with the next state, or when the first start fails. */
  #firstRestart: Promise<void> | undefined
  #firstRestartFailed: () => void = () => undefined
  /** Why there is no thread. Empty while there is one. */
  #problem = ''
  #newLogSegments = 0
  /** A start has failed since the loss: callers do not wait for the next one. */
  #isDown = false

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /** The current thread, or undefined while there is none. */
  get life(): EngineLife | undefined {
    return this.#life
  }

  /** Why there is no thread, or undefined while there is one. */
  get problem(): string | undefined {
    return this.#life === undefined ? this.#problem : undefined
  }

  /**
   * The first start. Fails when the folder cannot be opened, and with the signal's reason when that aborts. No thread
   * is left then.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { folder } = this.#options
    if (!existsSync(join(folder, 'PG_VERSION'))) await this.#makeFolder(folder, signal)
    this.#life = await this.#startWorker(folder, signal)
  }

  /** Waits until a thread is ready or a start has failed, up to the given time. */
  async ready(waitMillisecondsMax: number): Promise<EngineLife> {
    if (this.#life === undefined && this.#firstRestart !== undefined && !this.#isDown && waitMillisecondsMax > 0) {
      await this.#before(waitMillisecondsMax, this.#firstRestart)
    }
    if (this.#life === undefined) throw new StoreUnavailable(`the embedded store is being restarted: ${this.#problem}`)
    return this.#life
  }

  /** Log segments begun since the last checkpoint, 16 MB each, as of the last answer. */
  get newLogSegments(): number {
    return this.#newLogSegments
  }

  /**
   * Runs a request's statements in that thread. When they take longer than `millisecondsMax` each, the thread ends, and
   * the caller's transaction with it.
   */
  run(life: EngineLife, request: WorkerRequest, millisecondsMax: number): Promise<Outcomes> {
    if (life !== this.#life)
      return Promise.resolve({
        outcomes: [],
        failure: new StoreUnavailable('the embedded store was restarted meanwhile'),
      })
    assert(this.#pending === undefined, 'two requests at once on one connection')
    return new Promise((resolve) => {
      const { clock } = this.#options
      const timer = clock.schedule(millisecondsMax * request.statements.length, () => {
        // After a pause in this process the answer may have arrived and not been read yet.
        clock.endOfTick(() => {
          if (this.#pending !== pending) return
          const reason = `a statement took more than ${millisecondsMax} ms`
          this.#failPending(new StoreTooSlow(`the embedded store did not answer: ${reason}`))
          this.#lose(life, reason)
        })
      })
      const pending = { resolve, timer }
      this.#pending = pending
      life.postMessage(request satisfies WorkerMessage)
    })
  }

  /**
   * Ends the thread when `idle` settles, or after CLOSE_MILLISECONDS_MAX, and again allows that time for closing the
   * folder. A statement still running then fails and is not committed.
   */
  async close(idle: Promise<void>): Promise<void> {
    this.#closing = true
    await this.#before(CLOSE_MILLISECONDS_MAX, idle)
    const life = this.#life
    this.#life = undefined
    if (life !== undefined) {
      const isBusy = this.#pending !== undefined
      this.#failPending(lossOf('it was closed'))
      if (isBusy) await life.terminate()
      else await this.#end(life)
    }
    await this.#restarting
  }

  /**
   * Creates a new database in a temporary folder, from the template or in a separate thread, and renames it when it is
   * complete and durable: a kill or a power loss leaves no partial database, and the 400 MB of memory needed to create
   * one are freed with that thread.
   */
  async #makeFolder(folder: string, signal?: AbortSignal): Promise<void> {
    const draft = `${folder}.new`
    try {
      await rm(draft, { recursive: true, force: true })
      const firstMade = await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
      if (!(await copyTemplate(draft))) await this.#end(await this.#startWorker(draft, signal))
      await syncTree(draft)
      await rename(draft, folder)
      syncFoldersAbove(folder, firstMade)
    } catch (error) {
      signal?.throwIfAborted()
      throw new StoreUnavailable(`the embedded store cannot create ${folder}`, { cause: error })
    }
  }

  /** Lets the thread close its folder, up to the time limit. */
  async #end(worker: Worker): Promise<void> {
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.postMessage(null satisfies WorkerMessage)
    await this.#before(CLOSE_MILLISECONDS_MAX, ended)
    await worker.terminate()
  }

  #answered(worker: Worker, answer: Exclude<WorkerAnswer, { type: 'ready' }>): void {
    if (worker !== this.#life) return
    if (answer.type === 'broken') {
      this.#lose(worker, answer.reason, true)
      return
    }
    if (answer.type === 'notification') {
      this.#options.listener.onNotification(answer.channel, answer.payload)
      return
    }
    const pending = this.#pending
    assert(pending !== undefined, 'the store answered without a request')
    this.#pending = undefined
    pending.timer.cancel()
    this.#newLogSegments = answer.newLogSegments
    const { outcomes, failure } = answer
    if (failure === undefined) {
      pending.resolve({ outcomes })
      return
    }
    pending.resolve({ outcomes, failure: errorOf(failure) })
    if (isOutOfResources(failure.sqlState)) this.#lose(worker, failure.message, true)
  }

  /**
   * @param lacksResources whether it was lost for lack of disk space, memory or descriptors: the next start waits for
   *   them
   */
  #lose(worker: Worker, reason: string, lacksResources = false): void {
    if (worker !== this.#life) return
    this.#life = undefined
    this.#problem = reason
    this.#options.listener.onLost(reason)
    this.#failPending(lossOf(reason))
    this.#options.log.error({ reason }, 'store lost')
    const failed = new Promise<void>((resolve) => {
      this.#firstRestartFailed = resolve
    })
    this.#restarting = this.#restart(worker, lacksResources).finally(() => {
      this.#restarting = undefined
    })
    this.#firstRestart = Promise.race([this.#restarting, failed])
  }

  #failPending(error: StoreUnavailable): void {
    const pending = this.#pending
    this.#pending = undefined
    pending?.timer.cancel()
    pending?.resolve({ outcomes: [], failure: error })
  }

  async #restart(lost: Worker, lacksResources: boolean): Promise<void> {
    const { log, clock, folder, listener } = this.#options
    const startedMilliseconds = clock.monotonicMilliseconds()
    await lost.terminate()
    for (let attempt = 1; !this.#closing; attempt++) {
      try {
        if (lacksResources) await requireFreeSpace(folder)
        const worker = await this.#startWorker(folder)
        if (this.#closing) {
          await worker.terminate()
          return
        }
        this.#life = worker
        this.#isDown = false
        log.info({ milliseconds: Math.round(clock.monotonicMilliseconds() - startedMilliseconds) }, 'store is back')
        listener.onRestart()
        return
      } catch (error) {
        // One log line per outage, and one when its reason changes.
        const problem = error instanceof Error ? error.message : String(error)
        if (!this.#isDown || problem !== this.#problem) log.error({ err: error }, 'store restart failed')
        this.#isDown = true
        this.#problem = problem
        this.#firstRestartFailed()
        await wait(clock, backoff(RESTART_MILLISECONDS, attempt))
      }
    }
  }

  /** A thread, once it has opened the folder. */
  async #startWorker(folder: string, signal?: AbortSignal): Promise<Worker> {
    const { listener, log } = this.#options
    const worker = startThread('./embedded-worker', import.meta.url, {
      name: 'store',
      workerData: { folder, channels: listener.channels() } satisfies WorkerStart,
    })
    // The listeners stay for the thread's life: it would stop delivering while it has no message listener.
    const started = new Promise<boolean>((resolve, reject) => {
      worker.on('message', (answer: WorkerAnswer) => {
        if (answer.type === 'ready') resolve(true)
        else if (answer.type === 'broken') reject(new Error(answer.reason))
        if (answer.type !== 'ready') this.#answered(worker, answer)
      })
      worker.on('error', (error) => {
        if (worker === this.#life) log.error({ err: error }, 'store thread failed')
        const { code = '' } = error as { code?: string }
        this.#lose(worker, `the thread failed: ${error.message}`, isOutOfResources(code))
        reject(error)
      })
      worker.on('exit', (code) => {
        this.#lose(worker, `the thread ended with code ${code}`)
        reject(new Error(`the thread ended with code ${code} while it started`))
      })
    })
    try {
      const opened = signal === undefined ? started : untilAborted(signal, started)
      const ready = await this.#before(START_MILLISECONDS_MAX, opened)
      if (ready !== true) throw new Error(`the folder was not open after ${START_MILLISECONDS_MAX} ms`)
    } catch (error) {
      await worker.terminate()
      signal?.throwIfAborted()
      throw new StoreUnavailable(`the embedded store cannot open ${folder}`, { cause: error })
    }
    return worker
  }

  /** The promise's value, or undefined when it takes longer. */
  #before<Value>(milliseconds: number, promise: Promise<Value>): Promise<Value | undefined> {
    return withTimeLimit(this.#options.clock, milliseconds, promise, () => undefined)
  }
}

/** SQLSTATE classes 53 (insufficient resources: disk, memory, descriptors) and 58 (system error). */
function isOutOfResources(sqlState: string): boolean {
  return sqlState.startsWith('53') || sqlState.startsWith('58')
}

function errorOf({ message, sqlState, constraint }: WorkerFailure): Error {
  if (isCorrupt(sqlState)) return new StoreCorrupt(`${message} (${sqlState})`)
  if (!isOutOfResources(sqlState)) return new StatementFailed(message, sqlState, constraint)
  return new StoreUnavailable(`the embedded store cannot execute the statement now: ${message} (${sqlState})`)
}

/** Fails while the store cannot write: opening the folder needs a descriptor, and recovery disk space. */
async function requireFreeSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < FREE_BYTES_MIN) {
    throw new StoreUnavailable(`the store’s disk has ${bavail * bsize} bytes left, fewer than ${FREE_BYTES_MIN}`)
  }
  // Disk quotas and descriptor limits are detected only by writing.
  const probe = `${folder}.probe`
  try {
    await writeFile(probe, Buffer.alloc(PROBE_BYTES))
  } finally {
    await rm(probe, { force: true })
  }
}

function lossOf(reason: string): StoreUnavailable {
  return new StoreUnavailable(`the embedded store was lost: ${reason}`)
}
