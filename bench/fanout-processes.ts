/**
 * The processes in the fan-out benchmark: compiles the native programs if there is a compiler, starts each process on
 * its own core where `taskset` exists, communicates in lines, and ends all of them.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Answer } from './fanout-driver.ts'
import type { ServerSetup } from './fanout-server.ts'

/** Longer than any scenario's steps take on a busy machine. */
const ANSWER_MILLISECONDS_MAX = 120_000

const SERVER_CORE = 0
const CLIENT_CORE = 1

const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** A running process that answers each line with one line of JSON. */
export class Peer {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #answers: Answer[] = []
  #waiting: ((answer: Answer) => void) | undefined
  #fail: ((error: Error) => void) | undefined
  #ended = false

  /** @param core the one that it runs on. Absent: any */
  constructor(name: string, core: number | undefined, command: string, args: readonly string[]) {
    this.#name = name
    const line = canPin && core !== undefined ? ['taskset', '-c', String(core), command, ...args] : [command, ...args]
    const [program = '', ...rest] = line
    const child = spawn(program, rest, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child = child
    children.add(child)
    createInterface({ input: child.stdout! }).on('line', (text) => {
      const answer = JSON.parse(text) as Answer
      const waiting = this.#waiting
      this.#waiting = undefined
      if (waiting === undefined) this.#answers.push(answer)
      else waiting(answer)
    })
    child.stdin?.on('error', () => this.#fail?.(new Error(`${name} has ended`)))
    child.on('exit', () => {
      children.delete(child)
      this.#ended = true
      this.#fail?.(new Error(`${name} has ended`))
    })
  }

  /** The next response. */
  async answer(millisecondsMax = ANSWER_MILLISECONDS_MAX): Promise<Answer> {
    const known = this.#answers.shift()
    if (known !== undefined) return known
    if (this.#ended) throw new Error(`${this.#name} has ended`)
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting = resolve
        this.#fail = reject
        timer = setTimeout(() => reject(new Error(`${this.#name} does not answer`)), millisecondsMax)
      })
    } finally {
      clearTimeout(timer)
      this.#waiting = undefined
      this.#fail = undefined
    }
  }

  send(text: string): void {
    this.#child.stdin?.write(`${text}\n`)
  }

  ask(text: string): Promise<Answer> {
    this.send(text)
    return this.answer()
  }

  /** The process's processor time is found under it. */
  get pid(): number {
    return this.#child.pid as number
  }

  /** Kills it and waits until it is gone. */
  async end(): Promise<void> {
    if (this.#ended) return
    const gone = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await gone
  }
}

/** The programs available on this machine. */
export interface Tools {
  /** The path to the program that measures the kernel's limit. */
  readonly limit: string | undefined
  /** The path to the native load generator. */
  readonly reader: string | undefined
  readonly isPinned: boolean
  readonly folder: string
  /** Compiles one of `native/`. Undefined when there is no compiler, or a library is missing. */
  compile(name: string, options?: readonly string[]): string | undefined
  remove(): void
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const canPin = cpus().length > 1 && spawnSync('taskset', ['-V']).status === 0

export function prepareTools(): Tools {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-fanout-'))
  const compiler = ['cc', 'gcc', 'clang'].find((name) => spawnSync(name, ['--version']).status === 0)
  const compile = (name: string, options: readonly string[] = []): string | undefined => {
    if (compiler === undefined || process.platform !== 'linux') return undefined
    const program = join(folder, [name, ...options].join(''))
    const source = fileURLToPath(new URL(`native/${name}.c`, import.meta.url))
    const { status, stderr } = spawnSync(compiler, ['-O2', '-o', program, source, ...options], { encoding: 'utf8' })
    if (status === 0) return program
    console.error(`${name}.c does not compile and is left out: ${stderr}`)
    return undefined
  }
  return {
    limit: compile('limit'),
    reader: compile('reader'),
    isPinned: canPin,
    folder,
    compile,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function startTidegate(setup: ServerSetup, runtimeFlags: readonly string[] = []): Peer {
  return startNode('tidegate', SERVER_CORE, 'fanout-server.ts', [JSON.stringify(setup)], runtimeFlags)
}

/** @param bytesMin shorter messages are filled with spaces */
export function startNaive(markets: number, bytesMin = 0): Peer {
  return startNode('naive', SERVER_CORE, 'fanout-naive.ts', [String(markets), String(bytesMin)])
}

/** @param args the frames' length in bytes, and over TLS the certificate's files as JSON */
export function startNodeSockets(args: readonly string[]): Peer {
  return startNode('node', SERVER_CORE, 'fanout-node.ts', args)
}

/** @param args see native/limit.c */
export function startLimit(program: string, args: readonly (string | number)[]): Peer {
  return new Peer('limit', SERVER_CORE, program, args.map(String))
}

/** nginx, on the servers' core. */
export function startNginx(configFile: string): Peer {
  return new Peer('nginx', SERVER_CORE, 'nginx', ['-c', configFile])
}

/** How the load generator connects. */
export interface Client {
  /** The path to the native load generator, for TLS where `isOverTls`. Absent: the one in Node. */
  readonly reader: string | undefined
  readonly isOverTls?: boolean
  /** With TLS and the native one: the connections after the first resume its session. */
  readonly resumes?: boolean
}

/** @param lines one per connection: see native/reader.c */
export async function startReader(client: Client, port: number, lines: readonly string[]): Promise<Peer> {
  const { reader: program, isOverTls = false, resumes = false } = client
  const reader =
    program === undefined
      ? startNode('reader', CLIENT_CORE, 'fanout-reader.ts', [String(port), ...(isOverTls ? ['tls'] : [])])
      : new Peer('reader', CLIENT_CORE, program, [String(port), ...(resumes ? ['resume'] : [])])
  reader.send([String(lines.length), ...lines].join('\n'))
  const { resumed } = await reader.answer()
  if (resumes && resumed !== lines.length - 1) throw new Error(`${resumed} connections resumed a session`)
  return reader
}

function startNode(
  name: string,
  core: number,
  file: string,
  args: readonly string[],
  runtimeFlags: readonly string[] = [],
): Peer {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return new Peer(name, core, process.execPath, ['--expose-gc', ...runtimeFlags, '--import', 'tsx', path, ...args])
}
