import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { acquireDataLock, DataFolderHeld } from '../../src/store/data-lock.ts'

const SEED = 7

/** Turns of the event loop that a call of the file system waits for before it is made; none unless a test asks. */
const hesitation = vi.hoisted(() => ({ turns: (): number => 0 }))

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>()
  const hesitating =
    <Arguments extends unknown[], Result>(call: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments) => {
      for (let turn = hesitation.turns(); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve))
      return await call(...given)
    }
  const { link, readFile, rename, rm } = original
  return {
    ...original,
    link: hesitating(link),
    readFile: hesitating(readFile),
    rename: hesitating(rename),
    rm: hesitating(rm),
  }
})

/** A random stream that gives the same numbers for the same seed: 0 up to but not including `below`. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Contender {
  readonly process: ChildProcess
  readonly lines: AsyncIterator<string>
}

describe('the lock of a data folder', () => {
  let root = ''
  let folder = ''
  let contenders: Contender[] = []
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'tidegate-lock-'))
    folder = join(root, 'deep', 'data')
  })
  afterEach(async () => {
    for (const { process } of contenders) process.kill('SIGKILL')
    contenders = []
    await rm(root, { recursive: true, force: true })
  })
  const lock = () => join(folder, 'lock')
  const holderPid = async () => (JSON.parse(await readFile(lock(), 'utf8')) as { pid: number }).pid

  /** A process that is ready to try. */
  async function contender(): Promise<Contender> {
    const process_ = spawn(process.execPath, ['--import', 'tsx', 'test/support/lock-holder.ts', folder], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]()
    const made = { process: process_, lines }
    contenders.push(made)
    expect((await lines.next()).value).toBe('started')
    return made
  }
  const tries = async ({ process: process_, lines }: Contender) => {
    process_.stdin?.write('go\n')
    return (await lines.next()).value as string
  }

  it('is a file that names its holder, in a folder for its owner alone, until it is released', async () => {
    const held = await acquireDataLock(folder)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect(await holderPid()).toBe(process.pid)
    await held.release()
    expect(await readdir(folder)).toEqual([])
    await held.release()
    const again = await acquireDataLock(folder)
    // A release that comes late must not take the lock of the next holder.
    await held.release()
    expect(await readdir(folder)).toEqual(['lock'])
    await again.release()
  })

  it('refuses a second holder, also in the same process, and names the first', async () => {
    const held = await acquireDataLock(folder)
    const error = await acquireDataLock(folder).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(DataFolderHeld)
    expect((error as Error).message).toBe(`the data folder ${folder} is in use by process ${process.pid}`)
    expect(await tries(await contender())).toBe(`refused by ${process.pid}`)
    expect(await readdir(folder)).toEqual(['lock'])
    await held.release()
  })

  it.each([
    ['names a process that is gone', { pid: 2 ** 22 + 1, process_start: 'x' }],
    ['names our number as of another start', { pid: process.pid, process_start: 'node:1' }],
    ['names no process', { pid: -1 }],
    ['is cut off', undefined],
    ['is something else', null],
  ])('that %s is taken over', async (_, content) => {
    await mkdir(folder, { recursive: true })
    await writeFile(lock(), content === undefined ? '{"pid": 1' : JSON.stringify(content))
    const held = await acquireDataLock(folder)
    expect(await holderPid()).toBe(process.pid)
    expect(await readdir(folder)).toEqual(['lock'])
    await held.release()
  })

  it('of a living process that could not tell when it began is refused', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(lock(), JSON.stringify({ pid: process.pid, process_start: '' }))
    await expect(acquireDataLock(folder)).rejects.toThrow(DataFolderHeld)
  })

  it('of a killed process goes to exactly one of those who try at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 6 }, contender))
    const [first, ...others] = all as [Contender, ...Contender[]]
    expect(await tries(first)).toBe('held')
    first.process.kill('SIGKILL')
    await once(first.process, 'exit')
    const answers = await Promise.all(others.map(tries))
    expect(answers.filter((answer) => answer === 'held')).toHaveLength(1)
    const winner = others[answers.indexOf('held')] as Contender
    expect(await holderPid()).toBe(winner.process.pid)
    expect(answers.filter((answer) => answer.startsWith('refused by '))).toHaveLength(4)
    expect(await readdir(folder)).toEqual(['lock'])
  })

  it(`goes to exactly one of many attempts at a dead holder, in any order of their steps (seed ${SEED})`, async () => {
    await mkdir(folder, { recursive: true })
    const random = randomOf(SEED)
    // Mostly at once and now and then late: a step made on what was read long ago is what must do no harm.
    hesitation.turns = () => (random(3) === 0 ? random(60) : 0)
    const dead = (pid: number) => JSON.stringify({ pid, process_start: 'gone', nonce: String(pid) })
    for (let round = 0; round < 150; round++) {
      const content = dead(4_200_000 + round)
      await writeFile(lock(), content)
      if (round % 2 === 1) {
        // One that died while it replaced the dead one.
        const name = createHash('sha256').update(content).digest('hex').slice(0, 32)
        await writeFile(join(folder, `lock.claim-${name}`), dead(4_300_000 + round))
      }
      const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => acquireDataLock(folder)))
      const held = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      expect(held, `round ${round}`).toHaveLength(1)
      for (const attempt of attempts) {
        if (attempt.status === 'rejected') expect(attempt.reason).toBeInstanceOf(DataFolderHeld)
      }
      expect(await readdir(folder), `round ${round}`).toEqual(['lock'])
      await held[0]?.release()
    }
    hesitation.turns = () => 0
  })
})
