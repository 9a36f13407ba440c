/**
 * Worker processes beside the test's own workers, each killed with SIGKILL: in the middle of its work, after some number
 * of its statements, or at the end of the round. A killed one is replaced by another.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { once } from '../../../support/awaited.ts'
import { withClient } from '../../../support/postgres.ts'
import type { Random } from '../../../support/random.ts'
import { bundleProgram } from '../../orchestrations/kills/processes.ts'
import type { WorkerOptions } from './worker-program.ts'

/** The processes' connections, as the server lists them. */
const NAME = 'killed worker'
const AT_ONCE = 2
const STATEMENTS = { min: 10, max: 150 }

interface KilledWorkersOptions extends Omit<WorkerOptions, 'diesAfter'> {
  /** The most processes in all rounds. */
  readonly killsMax: number
  readonly random: Random
}

export class KilledWorkers {
  /** Processes killed so far. */
  kills = 0
  readonly #options: KilledWorkersOptions
  readonly #folder: string
  readonly #alive = new Set<ChildProcess>()
  /** Processes that ended otherwise. */
  #faults = 0
  #isRound = false

  private constructor(options: KilledWorkersOptions, folder: string) {
    this.#options = options
    this.#folder = folder
  }

  static async create(options: KilledWorkersOptions): Promise<KilledWorkers> {
    return new KilledWorkers(options, await bundleProgram(join(import.meta.dirname, 'worker-program.ts')))
  }

  /** They work, and die, until `work` ends. Then the store's server has undone what they had not committed. */
  async during(work: () => Promise<void>): Promise<void> {
    this.#isRound = true
    for (let count = 0; count < AT_ONCE; count++) this.#start()
    try {
      await work()
    } finally {
      this.#isRound = false
      const ended = [...this.#alive].map((child) => once(child, 'exit'))
      for (const child of this.#alive) child.kill('SIGKILL')
      await Promise.all(ended)
    }
    expect(this.#faults, 'processes that ended without being killed').toBe(0)
    await withClient(this.#options.url, async (client) => {
      const query = `select from pg_stat_activity where application_name = '${NAME}'`
      await expect.poll(async () => (await client.query(query)).rowCount).toBe(0)
    })
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #start(): void {
    const { url, isLong, killsMax, random } = this.#options
    if (!this.#isRound || this.kills + this.#alive.size >= killsMax) return
    const diesAfter = STATEMENTS.min + random.integer(STATEMENTS.max - STATEMENTS.min)
    const options: WorkerOptions = { url, isLong, diesAfter }
    const child = fork(join(this.#folder, 'program.js'), [JSON.stringify(options)], {
      env: { ...process.env, PGAPPNAME: NAME },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#alive.add(child)
    child.once('exit', (_code, signal) => {
      this.#alive.delete(child)
      if (signal === 'SIGKILL') this.kills++
      else this.#faults++
      this.#start()
    })
  }
}
