/**
 * Worker processes that can be killed. Their program is bundled first: a process then starts in a tenth of the time that
 * it takes from the sources.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { DepositReportBody } from '../../../../src/money/deposits/schemas.ts'
import { FAST_STORE_STARTS } from '../../../support/command-line.ts'
import type { Answer, ProgramOptions, Question, ReportAnswer } from './program.ts'

const HERE = import.meta.dirname
const SOURCES = join(HERE, '../../../../src')
/** Below it, packages are found that are not in the bundle. */
const CACHE = join(HERE, '../../../../node_modules/.cache')
/** So that what is bundled and was written for CommonJS finds it. */
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"

/** A new folder with the program; to be removed when no process runs it any more. */
export async function bundleProgram(source = join(HERE, 'program.ts')): Promise<string> {
  mkdirSync(CACHE, { recursive: true })
  const outdir = mkdtempSync(join(CACHE, 'worker-program-'))
  await build({
    // The thread of the embedded store is looked for beside the program.
    entryPoints: [
      { in: source, out: 'program' },
      { in: join(SOURCES, 'platform/store/embedded-worker.ts'), out: 'embedded-worker' },
    ],
    outdir,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: BANNER },
    external: ['pg-native', '@electric-sql/pglite'],
    logLevel: 'error',
  })
  return outdir
}

export class WorkerProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #questions = 0
  /** What it logged. */
  log = ''
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  /** Resolves when it works; rejects when it ends before. */
  readonly ready: Promise<void>
  isAlive = true

  constructor(folder: string, options: ProgramOptions) {
    this.#child = fork(join(folder, 'program.js'), [JSON.stringify(options)], {
      execArgv: [...FAST_STORE_STARTS],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.log += chunk.toString()
    })
    this.ended = new Promise((resolve) => this.#child.once('exit', resolve)).then(() => {
      this.isAlive = false
      for (const resolve of this.#waiting.values()) resolve(undefined)
      this.#waiting.clear()
    })
    this.ready = new Promise((resolve) => {
      this.#child.on('message', (message: 'ready' | Answer) => {
        if (message === 'ready') return resolve()
        this.#waiting.get(message.id)?.(message.result)
        this.#waiting.delete(message.id)
      })
      void this.ended.then(resolve)
    })
  }

  /** The answer to each report; undefined when it ended before it answered. */
  report(reports: readonly DepositReportBody[]): Promise<readonly ReportAnswer[] | undefined> {
    return this.#ask({ id: ++this.#questions, kind: 'report', reports })
  }

  /** See `time`; undefined when it ended before it answered. */
  passTime(seconds: number): Promise<undefined> {
    return this.#ask({ id: ++this.#questions, kind: 'pass-time', seconds })
  }

  remaining(): Promise<number | undefined> {
    return this.#ask({ id: ++this.#questions, kind: 'remaining' })
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** As a service stops: what is under way is finished. */
  async stop(): Promise<void> {
    await this.#ask({ id: ++this.#questions, kind: 'stop' })
    await this.ended
  }

  #ask<Result>(question: Question): Promise<Result | undefined> {
    if (!this.isAlive) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#waiting.set(question.id, resolve as (result: unknown) => void)
      // An end that is under way is noticed by its exit.
      this.#child.send(question, () => undefined)
    })
  }
}
