import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { Server } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLog } from '../../../src/platform/base/log.ts'
import { acquireDataLock, DataFolderHeld, dataFolderHolder } from '../../../src/platform/store/data-lock.ts'
import { once } from '../../support/awaited.ts'
import { captureLog } from '../../support/captured-log.ts'
import { scriptArguments } from '../../support/test-scripts.ts'

const HOLDER = join(import.meta.dirname, '../../support/lock-holder.ts')

const ROUNDS = process.env.TIDEGATE_LONG === '1' ? 1_000 : 8
const SEED = 7
const log = createLog('silent')

/** Event-loop ticks that a file-system call is delayed by; none unless a test sets it. */
const hesitation = vi.hoisted(() => ({ ticks: (): number => 0 }))
/** The type of file system reported for a folder; the real one unless a test sets it. */
const fileSystem = vi.hoisted(() => ({ type: undefined as number | undefined }))

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:fs/promises')>()
  const hesitating =
    <Arguments extends unknown[], Result>(call: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments) => {
      for (let tick = hesitation.ticks(); tick > 0; tick--) await new Promise((resolve) => setImmediate(resolve))
      return await call(...given)
    }
  const { link, readFile, rename, rm } = original
  return {
    ...original,
    link: hesitating(link),
    readFile: hesitating(readFile),
    rename: hesitating(rename),
    rm: hesitating(rm),
    statfs: async (path: string) => {
      const real = await original.statfs(path)
      return { ...real, type: fileSystem.type ?? real.type }
    },
  }
})

/** File-system type numbers of statfs(2). */
const NFS = 0x6969
const EXT4 = 0xef53

/** A random generator that returns the same numbers for the same seed: from 0 up to but not including `below`. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Whether this machine permits namespaces such as a container has. */
const hasNamespaces = spawnSync('unshare', ['--pid', '--fork', '--uts', '--mount-proc', 'true']).status === 0

/** Starts a process as in a container: with its own process ids and, if given, its own host name. */
function asContainer(host: string | undefined): readonly string[] {
  const unshare = ['unshare', '--pid', '--fork', '--uts', '--mount-proc', '--kill-child']
  return host === undefined ? unshare : [...unshare, 'sh', '-c', `hostname ${host} && exec "$@"`, 'sh']
}

interface Contender {
  readonly process: ChildProcess
  readonly lines: AsyncIterator<string>
}

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
  hesitation.ticks = () => 0
  fileSystem.type = undefined
  vi.restoreAllMocks()
  await rm(root, { recursive: true, force: true })
})
const lock = () => join(folder, 'lock')
const holder = async () => JSON.parse(await readFile(lock(), 'utf8')) as Record<string, unknown>
const acquire = () => acquireDataLock(folder, { log })
/** The files in the folder while the lock is held: the lock file and the socket that it names. */
const heldFiles = async () => ['lock', `lock.${(await holder()).nonce}.socket`]
const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** A process that is ready to acquire the lock. */
async function contender(wrapper: readonly string[] = []): Promise<Contender> {
  const [program, ...words] = [...wrapper, process.execPath, ...scriptArguments(HOLDER), folder]
  const process_ = spawn(program as string, words, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]()
  const made = { process: process_, lines }
  contenders.push(made)
  expect((await lines.next()).value).toBe('started')
  return made
}

async function tries({ process: process_, lines }: Contender): Promise<string> {
  process_.stdin?.write('go\n')
  return (await lines.next()).value as string
}

/** Kills the process inside a wrapper that waits for it, or the process itself, as a crash does. */
async function kill({ process: process_ }: Contender): Promise<void> {
  const inner = readFileSync(`/proc/${process_.pid}/task/${process_.pid}/children`, 'utf8').trim()
  const ended = once(process_, 'exit')
  process.kill(inner === '' ? (process_.pid as number) : Number(inner), 'SIGKILL')
  await ended
}

/** Writes the lock file of a process that no longer exists, with a socket that accepts no connections. */
async function leaveLock(facts: object): Promise<void> {
  const nonce = randomUUID()
  const dead = { pid: process.pid, started: '2026-01-01T00:00:00.000Z', process_start: 'node:1', has_socket: true }
  await mkdir(folder, { recursive: true })
  // Connecting to a file that is not a socket is refused as well.
  await writeFile(join(folder, `lock.${nonce}.socket`), '')
  await writeFile(lock(), JSON.stringify({ ...dead, host: hostname(), boot_id: bootId(), nonce, ...facts }))
}

describe('the lock of a data folder', () => {
  it("a data folder's lock is a file that names its holder, accessible to its owner only, until it is released", async () => {
    const held = await acquire()
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect(await holder()).toMatchObject({ pid: process.pid, host: hostname(), boot_id: bootId(), has_socket: true })
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
    for (const name of await heldFiles()) expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600)
    await held.release()
    expect(await readdir(folder)).toEqual([])
    await held.release()
    const again = await acquire()
    // A late release must not remove the lock of the next holder.
    await held.release()
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
    await again.release()
  })

  it("a data folder's lock refuses a second holder, also in the same process, and names the first", async () => {
    const held = await acquire()
    const error = await acquire().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(DataFolderHeld)
    expect((error as Error).message).toBe(
      `the data folder ${folder} is in use by process ${process.pid} on host ${hostname()}, since ${(await holder()).started}: stop it, or give this process its own folder with --data_dir`,
    )
    expect(await tries(await contender())).toBe(`refused by ${process.pid}`)
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
    await held.release()
  })

  it("a data folder's lock reports its holder to a process that only asks, and none once it is free", async () => {
    expect(await dataFolderHolder(folder)).toBeUndefined()
    const held = await acquire()
    expect(await dataFolderHolder(folder)).toMatchObject({ pid: process.pid, host: hostname(), isElsewhere: false })
    await held.release()
    expect(await dataFolderHolder(folder)).toBeUndefined()
  })

  it.each([
    ['is cut off', '{"pid": 1'],
    ['is something else', 'null'],
    ['names no process', '{"pid": -1}'],
  ])("a data folder's lock that %s is replaced", async (_, content) => {
    await mkdir(folder, { recursive: true })
    await writeFile(lock(), content)
    const held = await acquire()
    expect((await holder()).pid).toBe(process.pid)
    await held.release()
    expect(await readdir(folder)).toEqual([])
  })

  it("a data folder's lock is acquired by exactly one of several concurrent processes after its holder was killed", async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => contender()))
    const [first, ...others] = all as [Contender, ...Contender[]]
    expect(await tries(first)).toBe('held')
    await kill(first)
    const answers = await Promise.all(others.map(tries))
    expect(answers.filter((answer) => answer === 'held')).toHaveLength(1)
    const winner = others[answers.indexOf('held')] as Contender
    expect((await holder()).pid).toBe(winner.process.pid)
    expect(answers.filter((answer) => answer.startsWith('refused by '))).toHaveLength(4)
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
  })

  it(`a data folder's lock goes to exactly one of many attempts to replace a dead holder, in any order (seed ${SEED})`, async () => {
    await mkdir(folder, { recursive: true })
    const random = randomOf(SEED)
    // Mostly concurrent and sometimes delayed: a step based on outdated information must do no harm.
    hesitation.ticks = () => (random(3) === 0 ? random(60) : 0)
    for (let round = 0; round < ROUNDS; round++) {
      await leaveLock({})
      const content = await readFile(lock(), 'utf8')
      if (round % 2 === 1) {
        // An attempt that died while it replaced the dead holder.
        const name = createHash('sha256').update(content).digest('hex').slice(0, 32)
        await writeFile(join(folder, `lock.claim-${name}`), JSON.stringify({ pid: 4_300_000 + round }))
      }
      const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => acquire()))
      const held = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      expect(held, `round ${round}`).toHaveLength(1)
      for (const attempt of attempts) {
        if (attempt.status === 'rejected') expect(attempt.reason).toBeInstanceOf(DataFolderHeld)
      }
      expect((await readdir(folder)).sort(), `round ${round}`).toEqual(await heldFiles())
      await held[0]?.release()
      expect(await readdir(folder), `round ${round}`).toEqual([])
    }
  })
})

describe('the socket of the lock', () => {
  it('the lock socket is in the folder even if the path of the folder is longer than a socket path may be', async () => {
    folder = join(root, 'x'.repeat(60), 'y'.repeat(60))
    const held = await acquire()
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
    expect((await stat(join(folder, (await heldFiles())[1] as string))).isSocket()).toBe(true)
    expect(await tries(await contender())).toBe(`refused by ${process.pid}`)
    await held.release()
    expect(await readdir(folder)).toEqual([])
    // The descriptor used to reach a long path is closed once.
    await held.release()
  })

  it('the lock socket shows that a stopped process still holds the lock, because the kernel accepts connections for it', async () => {
    const holding = await contender()
    expect(await tries(holding)).toBe('held')
    holding.process.kill('SIGSTOP')
    await expect(acquire()).rejects.toThrow(`in use by process ${holding.process.pid} on host ${hostname()}`)
  })

  it('the lock socket is replaced by the process id when the socket was removed', async () => {
    const held = await acquire()
    await rm(join(folder, (await heldFiles())[1] as string))
    await expect(acquire()).rejects.toThrow(DataFolderHeld)
    await held.release()
    expect(await readdir(folder)).toEqual([])
  })

  it.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP'])(
    'the lock socket is replaced by the process id on a file system without sockets (%s), which is logged',
    async (code) => {
      vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
        process.nextTick(() => this.emit('error', Object.assign(new Error('refused'), { code })))
        return this
      })
      const { log, lines } = captureLog()
      const held = await acquireDataLock(folder, { log })
      vi.restoreAllMocks()
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { folder, code, msg: expect.stringContaining('Put data_dir on a local volume') },
      ])
      expect(await readdir(folder)).toEqual(['lock'])
      expect(await tries(await contender())).toBe(`refused by ${process.pid}`)
      await held.release()
      expect(await readdir(folder)).toEqual([])
    },
  )

  it('the lock socket fails the start when it cannot be created for another reason', async () => {
    vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
      process.nextTick(() => this.emit('error', Object.assign(new Error('listen EIO'), { code: 'EIO' })))
      return this
    })
    await expect(acquire()).rejects.toThrow(`the lock of ${folder} cannot be created`)
    expect(await readdir(folder)).toEqual([])
  })
})

describe('a lock of an earlier version without a socket', () => {
  it.each([
    ['names a process that has ended', { pid: 2 ** 22 + 1, process_start: 'x' }],
    ['names our number as of another start', { pid: process.pid, process_start: 'node:1' }],
  ])("an earlier version's lock without a socket that %s is replaced", async (_, content) => {
    await mkdir(folder, { recursive: true })
    await writeFile(lock(), JSON.stringify({ ...content, started: '', nonce: randomUUID() }))
    const held = await acquire()
    expect((await holder()).pid).toBe(process.pid)
    await held.release()
  })

  it("an earlier version's lock that names a living process of unknown start time is refused", async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(lock(), JSON.stringify({ pid: process.pid, process_start: '' }))
    await expect(acquire()).rejects.toThrow(`${folder} is in use by process ${process.pid}`)
  })
})

describe('a lock whose holder does not answer', () => {
  const takeOver = async () => await acquireDataLock(folder, { log, takeOver: true })

  it('a lock with a silent holder is replaced when the holder ran on this host in this boot', async () => {
    fileSystem.type = NFS
    await leaveLock({})
    const held = await acquire()
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
    await held.release()
  })

  it('a lock with a silent holder is refused when the holder ran on another host, and replaced only with --take-over', async () => {
    fileSystem.type = EXT4
    await leaveLock({ host: 'other' })
    const refusal = await acquire().catch((error: Error) => error.message)
    expect(refusal).toContain(`is in use by process ${process.pid} on another host, other, since 2026-01-01`)
    expect(refusal).toContain('--take-over')
    const { log, lines } = captureLog()
    const held = await acquireDataLock(folder, { log, takeOver: true })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ host: 'other', msg: expect.any(String) }])
    expect((await holder()).host).toBe(hostname())
    // A holder that is known to be alive is never replaced.
    await expect(takeOver()).rejects.toThrow(DataFolderHeld)
    await held.release()
    expect(await readdir(folder)).toEqual([])
  })

  it('a lock with a silent holder is refused after a reboot of a host with this name, on a shared file system', async () => {
    fileSystem.type = NFS
    await leaveLock({ boot_id: randomUUID() })
    await expect(acquire()).rejects.toThrow('--take-over')
    await (await takeOver()).release()
  })

  it('a lock with a silent holder is replaced after a reboot of this machine, on a file system that only it can mount', async () => {
    fileSystem.type = EXT4
    await leaveLock({ boot_id: randomUUID() })
    const held = await acquire()
    expect((await holder()).boot_id).toBe(bootId())
    await held.release()
  })

  it('a lock with a silent holder on another host is refused also by a process that replaces a dead holder', async () => {
    await leaveLock({})
    const content = await readFile(lock(), 'utf8')
    const claim = `lock.claim-${createHash('sha256').update(content).digest('hex').slice(0, 32)}`
    await writeFile(join(folder, claim), JSON.stringify({ ...JSON.parse(content), host: 'other' }))
    await expect(acquire()).rejects.toThrow('another host, other')
  })
})

describe.skipIf(!hasNamespaces)('two containers with one folder (needs unshare --pid --uts --mount-proc)', () => {
  it.each([
    ['the same host name', undefined],
    ['host names of their own', 'inside'],
  ])('a second container with one folder and %s is refused while the first lives', async (_, host) => {
    const first = await contender(asContainer(host))
    expect(await tries(first)).toBe('held')
    // Its own process id is 1; in this namespace that is another process.
    expect((await holder()).pid).toBe(1)
    await expect(acquire()).rejects.toThrow(`in use by process 1 on host ${host ?? hostname()}`)
    expect(await tries(await contender(asContainer('second')))).toBe('refused by 1')
    await expect(acquireDataLock(folder, { log, takeOver: true })).rejects.toThrow(DataFolderHeld)
  })

  it('a killed container with the same host name is replaced by exactly one other', async () => {
    const first = await contender(asContainer(undefined))
    expect(await tries(first)).toBe('held')
    await kill(first)
    const others = await Promise.all([contender(asContainer(undefined)), contender(asContainer(undefined))])
    const answers = await Promise.all(others.map(tries))
    expect(answers.sort()).toEqual(['held', 'refused by 1'])
  })

  it('a killed container with its own host name is replaced only with --take-over', async () => {
    const first = await contender(asContainer('inside'))
    expect(await tries(first)).toBe('held')
    await kill(first)
    await expect(acquire()).rejects.toThrow('process 1 on another host, inside')
    const held = await acquireDataLock(folder, { log, takeOver: true })
    expect((await readdir(folder)).sort()).toEqual(await heldFiles())
    await held.release()
  })
})
