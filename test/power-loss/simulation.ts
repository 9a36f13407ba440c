/** One simulation: a recorded workload, then the disks that a loss of power at random moments could leave. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FAST_STORE_STARTS } from '../support/command-line.ts'
import { Random } from '../support/random.ts'
import { scriptArguments } from '../support/test-scripts.ts'
import { type CountsSync, Disk } from './disk.ts'
import { makeStore, problemsOf } from './inspection.ts'
import { type Change, readRecording } from './recording.ts'

/** The C compiler of the machine: the recorder is a library that is preloaded into the process. */
export const hasCompiler = spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0

export interface Simulation {
  readonly seed: number
  readonly disks: number
  readonly transactions: number
  readonly setUp?: 'product' | 'unsynced' | 'no-page-images'
  /** Which syncs are effective; all when absent. */
  readonly countsSync?: CountsSync
  /** Treats a transaction as acknowledged as soon as its commit is sent. */
  readonly isAnsweredEarly?: boolean
  readonly onDisk?: (number: number, problems: readonly string[]) => void
}

/** The disks with violated invariants. */
export async function simulate(options: Simulation): Promise<string[][]> {
  const { seed, disks, transactions, setUp = 'product', countsSync, isAnsweredEarly = false, onDisk } = options
  const random = new Random(seed)
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-power-loss-'))
  try {
    const [base, store] = [join(folder, 'base'), join(folder, 'store')]
    await makeStore(base)
    cpSync(base, store, { recursive: true })
    const changes = record(folder, store, [setUp, store, String(seed), String(transactions)])
    const disk = new Disk(store, base, countsSync)
    const moments = momentsIn(changes, disks, random)
    const started = new Set<number>()
    const answered = new Set<number>()
    const bad: string[][] = []
    let number = 0
    for (const [index, change] of changes.entries()) {
      if (change.kind === 'M') {
        const [word, tx] = change.text.split(' ')
        if (word === 'START') started.add(Number(tx))
        if (word === (isAnsweredEarly ? 'SENT' : 'ACK')) answered.add(Number(tx))
      } else disk.apply(change)
      for (let again = moments.get(index) ?? 0; again > 0; again--) {
        const state = join(folder, 'state')
        disk.writeState(state, random.pick(['strict', 'journal']), random)
        const problems = await problemsOf(state, { started, answered })
        rmSync(state, { recursive: true })
        rmSync(`${state}.new`, { recursive: true, force: true })
        if (problems.length > 0) bad.push(problems)
        onDisk?.(++number, problems)
      }
    }
    return bad
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function record(folder: string, root: string, workload: readonly string[]): Change[] {
  const library = join(folder, 'recorder.so')
  const source = join(import.meta.dirname, 'recorder.c')
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl', '-lpthread'], {
    encoding: 'utf8',
  })
  if (compiled.status !== 0) throw new Error(`the recorder does not compile: ${compiled.stderr}`)
  const log = join(folder, 'recording')
  const program = [...FAST_STORE_STARTS, ...scriptArguments(join(import.meta.dirname, 'workload.ts')), ...workload]
  const ran = spawnSync(process.execPath, program, {
    encoding: 'utf8',
    env: { ...process.env, LD_PRELOAD: library, RECORD_ROOT: root, RECORD_LOG: log },
  })
  if (ran.status !== 0) throw new Error(`the workload ended with ${ran.status}: ${ran.stderr}`)
  return readRecording(log)
}

/**
 * How many disks to simulate after which change: anywhere, right after an acknowledgement, and around syncs and
 * renames.
 */
function momentsIn(changes: readonly Change[], disks: number, random: Random): Map<number, number> {
  const places = (isPlace: (change: Change) => boolean) =>
    [...changes.keys()].filter((index) => isPlace(changes[index] as Change))
  const answers = places(({ kind, text }) => kind === 'M' && text.startsWith('ACK'))
  const critical = places(({ kind }) => 'SRUD'.includes(kind))
  const moments = new Map<number, number>()
  for (let disk = 0; disk < disks; disk++) {
    const where = random.next()
    const index =
      where < 0.4
        ? random.integer(changes.length)
        : where < 0.7
          ? random.pick(answers) + random.integer(3)
          : random.pick(critical) + random.integer(4) - 2
    const moment = Math.max(0, Math.min(changes.length - 1, index))
    moments.set(moment, (moments.get(moment) ?? 0) + 1)
  }
  return moments
}
