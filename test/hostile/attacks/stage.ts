/**
 * One built service process under attack, on free ports of 127.0.0.1 and with its own data folder, and the customers
 * that attacks act as. The folders are copies of a prepared one, because creating the store takes ten seconds. The
 * process has a limited heap, and is killed at the end in any case.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { cpSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { STREAM_SCOPE, servedScopes } from '../../../src/contract/scopes.ts'
import { TEST_BANK } from '../../../src/service/config/banking.ts'
import { market, OperatorApi } from '../../support/running-service.ts'
import { UNGUARDED_FLAGS } from '../../support/simulated-markets.ts'
import { newCustomer } from '../attacked-service.ts'
import type { AttackContext } from '../family.ts'
import { ProcessWatch } from '../process-watch.ts'
import { type Target, targetOf } from '../raw-peer.ts'

const ROOT = join(import.meta.dirname, '../../..')
const HEAP_MEGABYTES = 1_024
/** Only for a service that never becomes ready. */
const READY_MILLISECONDS_MAX = 240_000
/** From SIGTERM to the end, including the stream's drain (`stream.drain_seconds`: 5 s). */
export const STOP_MILLISECONDS_MAX = 12_000
const LOG_CHARACTERS_KEPT = 4_000_000
const ERROR_CHARACTERS_KEPT = 500

/** All scopes for the operations served without a sandbox. */
const ALL_SCOPES = servedScopes(false).join(' ')

/**
 * A simulated market pauses for up to 0.4 s. All of them hardly ever pause at once, so silence from all is the
 * service's.
 */
const BASES = ['BTC', 'ETH', 'SOL', 'XRP', 'ADA', 'DOT', 'LTC', 'LINK'] as const
export const MARKETS: readonly string[] = BASES.map((base) => `${base}USD`)

/**
 * Settings for every service under attack. They are set through environment variables, where an unknown key is a
 * warning and not an error, so that the same attacks run against earlier versions.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  'http.port': '0',
  'operator.port': '0',
  'simulator.allowed': 'true',
  'simulator.rate': '50',
  'banking.instructions': JSON.stringify(TEST_BANK),
  ...UNGUARDED_FLAGS,
  markets: JSON.stringify(BASES.map((base) => market(base, 2, 25))),
}

export interface StageOptions {
  readonly settings?: Readonly<Record<string, string>>
  readonly hasStalledLog?: boolean
  /** The service creates its store itself, which is less work than a copy where there is only one service. */
  readonly isNewStore?: boolean
}

/** A customer with one client, which holds every scope, and a token for all of them. */
export type Customer = Awaited<ReturnType<typeof newCustomer>>

type ServiceChild = ChildProcessByStdio<null, Readable, Readable>

export class Stage {
  readonly http: string
  readonly ws: string
  readonly operator: OperatorApi
  readonly pid: number
  readonly watch: ProcessWatch
  /** The public listener. */
  readonly target: Target
  readonly operatorTarget: Target
  /** Exit code or signal, once the process has ended. */
  ended: string | undefined
  /** The newest log lines. Empty while the log is not read. */
  log = ''
  readonly #child: ServiceChild
  readonly #folder: string
  readonly #exit: Promise<void>
  #field: Promise<AttackContext> | undefined

  private constructor(child: ServiceChild, folder: string, ready: ReadyLine, options: StageOptions) {
    this.#child = child
    this.#folder = folder
    this.http = ready.http
    this.ws = ready.ws
    this.pid = ready.pid
    this.operator = new OperatorApi(ready.operator, folder)
    this.target = targetOf(ready.http)
    this.operatorTarget = targetOf(ready.operator)
    this.watch = new ProcessWatch(ready.pid)
    if (options.hasStalledLog !== true) {
      child.stderr.on('data', (text) => {
        this.log = (this.log + text).slice(-LOG_CHARACTERS_KEPT)
      })
      // The stream was paused when the service was ready, and adding a listener does not resume it.
      child.stderr.resume()
    }
    this.#exit = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.ended = signal ?? `code ${code}`
        this.watch.stop()
        resolve()
      })
    })
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'tidegate-attack-'))
    try {
      if (options.isNewStore !== true) {
        template ??= createTemplate()
        cpSync(await template, folder, { recursive: true, filter: isPlain })
      }
      const child = spawnService(folder, options.settings ?? {})
      return new Stage(child, folder, await readyLine(child), options)
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  get isAlive(): boolean {
    return this.ended === undefined
  }

  /** CPU time in milliseconds so far, for all the process's threads. Unknown after its end. */
  get busyMilliseconds(): number {
    return this.isAlive ? this.watch.busyMilliseconds : Number.NaN
  }

  customer(): Promise<Customer> {
    return newCustomer(this.operator, this.target, true, ALL_SCOPES)
  }

  /** The context for the malformed requests. */
  field(): Promise<AttackContext> {
    this.#field ??= this.#newField()
    return this.#field
  }

  async #newField(): Promise<AttackContext> {
    const credentials = (streaming: boolean, scope: string) => newCustomer(this.operator, this.target, streaming, scope)
    return {
      stream: this.target,
      operator: this.operatorTarget,
      operatorToken: this.operator.token,
      markets: MARKETS,
      subscriptionsMax: 1_000,
      inboundBytesMax: 65_536,
      headerBytesMax: 524_288,
      reader: await credentials(true, STREAM_SCOPE),
      scopeless: await credentials(true, 'identity:read_account'),
      unlisted: await credentials(false, STREAM_SCOPE),
    }
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void {
    this.#child.kill(name)
  }

  /** Resolves with the process's end, or with undefined if it has not ended by then. */
  async untilEnded(millisecondsMax: number): Promise<string | undefined> {
    await within(millisecondsMax, this.#exit)
    return this.ended
  }

  /** Kills the process if it still runs, and removes its folder. */
  async close(): Promise<void> {
    this.watch.stop()
    this.#child.kill('SIGKILL')
    await this.#exit
    this.#child.stderr.destroy()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

interface ReadyLine {
  readonly http: string
  readonly ws: string
  readonly operator: string
  readonly pid: number
}

/** A data folder with a current store, to be copied. */
let template: Promise<string> | undefined

async function createTemplate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-attack-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const child = spawnService(folder, {})
  await readyLine(child)
  child.stderr.resume()
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGTERM')
  await ended
  return folder
}

/** The sockets of a stale lock are not copied. */
function isPlain(path: string): boolean {
  const kind = lstatSync(path)
  return kind.isFile() || kind.isDirectory()
}

function spawnService(folder: string, settings: Readonly<Record<string, string>>): ServiceChild {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEGATE_'))
  const variables = Object.entries({ ...SETTINGS, data_dir: folder, ...settings }).map(([key, value]) => [
    `TIDEGATE_${key.toUpperCase().replaceAll('.', '_')}`,
    value,
  ])
  const child = spawn(process.execPath, [join(ROOT, 'dist/main.js'), 'serve'], {
    cwd: folder,
    env: {
      ...Object.fromEntries([...inherited, ...variables]),
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // However the attacks end, including exceptions outside of any await.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

function readyLine(child: ServiceChild): Promise<ReadyLine> {
  return new Promise((resolve, reject) => {
    let text = ''
    const limit = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the service was not ready after ${READY_MILLISECONDS_MAX} ms`))
    }, READY_MILLISECONDS_MAX)
    let errors = ''
    const keepErrors = (part: Buffer): void => {
      errors = (errors + part).slice(-ERROR_CHARACTERS_KEPT)
    }
    child.stderr.on('data', keepErrors)
    child.once('close', (code) => reject(new Error(`the service ended with ${code} before it was ready: ${errors}`)))
    child.stdout.on('data', (part) => {
      text += part
      const line = text.split('\n').find((candidate) => candidate.startsWith('{"ready"'))
      if (line === undefined) return
      clearTimeout(limit)
      child.stderr.off('data', keepErrors)
      child.stderr.pause()
      resolve(JSON.parse(line) as ReadyLine)
    })
  })
}

/** Resolves with the result, or with undefined after a timeout. */
export async function within<Result>(millisecondsMax: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), millisecondsMax)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
