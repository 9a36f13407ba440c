import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acquireDataLock, DataFolderHeld } from '../../src/store/data-lock.ts'

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
    ['names our number as of another start', { pid: process.pid, process_start: 'another boot:1' }],
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

  it('goes to exactly one of many attempts at a dead holder, also of one that died replacing it', async () => {
    await mkdir(folder, { recursive: true })
    const dead = (pid: number) => JSON.stringify({ pid, process_start: 'gone', nonce: String(pid) })
    for (let round = 0; round < 25; round++) {
      await writeFile(lock(), dead(4_200_000 + round))
      const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => acquireDataLock(folder)))
      const held = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      expect(held, `round ${round}`).toHaveLength(1)
      for (const attempt of attempts) {
        if (attempt.status === 'rejected') expect(attempt.reason).toBeInstanceOf(DataFolderHeld)
      }
      expect(await readdir(folder)).toEqual(['lock'])
      await held[0]?.release()
    }
  })
})
