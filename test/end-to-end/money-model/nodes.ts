/**
 * Processes of the built program, `serve`, on one store, that are killed with SIGKILL: while a call is under way, while a
 * payment is requested from the executor, while they start, and at any other moment. Another one starts in the place of
 * each. A call goes to any of them that is ready; one that was not answered may have been carried out.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { FAST_STORE_STARTS, type RunningCommand, startProgram } from '../../support/command-line.ts'
import type { Random } from '../../support/random.ts'
import { BUILT_PROGRAM, type Flags } from '../../support/running-service.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of many documents
export type Json = any

export interface Answer {
  readonly status: number
  readonly body: Json
}

type Death = { readonly kind: 'call' | 'request'; left: number } | { readonly kind: 'time' }

interface Node {
  readonly name: string
  readonly slot: number
  readonly command: RunningCommand
  /** Absent: it is not killed. */
  death: Death | undefined
  wasKilled: boolean
  /** Absent before it is ready. */
  addresses?: { readonly http: string; readonly operator: string }
}

interface NodesOptions {
  readonly count: number
  readonly folder: string
  readonly random: Random
  /** Of the process with this name; new ones for each start. */
  readonly flagsOf: (name: string) => Flags
  /** Called when a process can be called, before the first call. */
  readonly onStart?: () => Promise<void>
}

/** A process dies in the last of at most this many calls, or requests of payments. */
const CALLS_MAX = 120
const REQUESTS_MAX = 6
/** Milliseconds after a process was started, and between a call and the death in it. */
const LIFE_MAX = 15_000
const START_MAX = 1_500
const IN_CALL_MAX = 25
/** Far above what a call takes on a busy machine. */
const ANSWER_MILLISECONDS_MAX = 120_000
/** Of log lines that report an error of the service itself. */
const ERRORS_KEPT = 100

export class Nodes {
  kills = 0
  /** Calls without an answer, and calls that were answered 503. */
  unanswered = 0
  unavailable = 0
  calls = 0
  /** What no process may do: end by itself, or answer 500. */
  readonly violations: string[] = []
  /** Distinct events that processes logged as errors. */
  readonly errors = new Map<string, string>()
  readonly #options: NodesOptions
  readonly #running = new Map<number, Node>()
  readonly #waiting: (() => void)[] = []
  #started = 0
  #isCalm = true
  #isStopping = false

  constructor(options: NodesOptions) {
    this.#options = options
  }

  /** Starts one process in each place; resolves when all are ready. */
  async start(count = this.#options.count): Promise<void> {
    this.#isStopping = false
    await Promise.all(Array.from({ length: count }, (_, slot) => this.#start(slot)))
  }

  /** From now on processes are killed. */
  disturb(): void {
    this.#isCalm = false
    for (const node of this.#running.values()) this.#doom(node)
  }

  /** No process is killed any more; resolves when one runs in each place. */
  async calm(): Promise<void> {
    this.#isCalm = true
    for (const node of this.#running.values()) node.death = undefined
    const isWhole = () => this.#ready().length === this.#options.count
    while (!isWhole() && this.violations.length === 0) await this.#change()
  }

  /** Ends all processes as a deployment does. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const nodes = [...this.#running.values()]
    for (const { command } of nodes) command.child.kill('SIGTERM')
    const results = await Promise.all(nodes.map(({ command }) => command.result))
    for (const [index, { code, stderr }] of results.entries()) {
      if (code !== 0) this.violations.push(`${nodes[index]?.name} ended with ${code}: ${stderr.slice(-2_000)}`)
    }
  }

  /** Ends what a failed test has left. */
  abandon(): void {
    this.#isStopping = true
    for (const { command } of this.#running.values()) command.child.kill('SIGKILL')
  }

  /** The public address of a process that is ready. */
  get httpAddress(): string {
    return this.#ready()[0]?.addresses?.http ?? ''
  }

  /** A process asks the executor to pay; whether it lives afterwards. */
  onRequest(name: string): boolean {
    const node = this.#ready().find((each) => each.name === name)
    if (node?.death?.kind !== 'request' || --node.death.left > 0) return true
    this.#kill(node)
    return false
  }

  /** The answer of any process that is ready; undefined when there was none, or the service was not available. */
  async call(
    listener: 'http' | 'operator',
    token: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<Answer | undefined> {
    const node = await this.#any()
    this.calls++
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : JSON_BODY) }
    const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    try {
      const url = `${node.addresses?.[listener]}${path}`
      const answered = fetch(url, { ...request, signal: AbortSignal.timeout(ANSWER_MILLISECONDS_MAX) })
      if (node.death?.kind === 'call' && --node.death.left === 0) this.#killSoon(node, IN_CALL_MAX)
      const response = await answered
      const text = await response.text()
      const { status } = response
      if (status === 503 || status === 429) {
        this.unavailable++
        await pause(50)
        return undefined
      }
      if (status >= 500) this.violations.push(`${method} ${path} was answered ${status}: ${text}`)
      return { status, body: text === '' ? undefined : JSON.parse(text) }
    } catch (error) {
      if ((error as Error).name === 'TimeoutError') this.violations.push(`${method} ${path} was not answered`)
      this.unanswered++
      return undefined
    }
  }

  #ready(): Node[] {
    return [...this.#running.values()].filter(({ addresses, wasKilled }) => addresses !== undefined && !wasKilled)
  }

  async #any(): Promise<Node> {
    for (;;) {
      if (this.violations.length > 0) throw new Error(this.violations.join('\n'))
      const ready = this.#ready()
      if (ready.length > 0) return this.#options.random.pick(ready)
      await this.#change()
    }
  }

  /** Resolves when a process is ready, or has ended. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  #changed(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #start(slot: number): Promise<void> {
    const { folder, random, flagsOf, onStart } = this.#options
    await onStart?.()
    const name = `node-${++this.#started}`
    const path = join(folder, `node-${slot}`)
    mkdirSync(path, { recursive: true })
    const flags: Flags = { data_dir: path, 'http.port': 0, 'operator.port': 0, ...flagsOf(name) }
    const args = Object.entries(flags).flatMap(([key, value]) => [`--${key}`, String(value)])
    const command = startProgram(process.execPath, [...FAST_STORE_STARTS, BUILT_PROGRAM, 'serve', ...args], {
      cwd: path,
      env: { PATH: process.env.PATH },
    })
    const node: Node = { name, slot, command, death: undefined, wasKilled: false }
    this.#running.set(slot, node)
    void command.result.then(({ code, stderr }) => this.#ended(node, code, stderr))
    if (!this.#isCalm && random.chance(0.1)) this.#killSoon(node, START_MAX)
    try {
      const { http, operator } = JSON.parse(await command.line((line) => line.includes('"ready":true')))
      node.addresses = { http, operator: `${operator}/admin/v1` }
      if (!this.#isCalm) this.#doom(node)
      this.#changed()
    } catch {
      // It has ended; another one starts, or its end is a violation.
    }
  }

  #doom(node: Node): void {
    const { random } = this.#options
    const kind = random.pick(['call', 'call', 'request', 'time'] as const)
    node.death =
      kind === 'time' ? { kind } : { kind, left: 1 + random.integer(kind === 'call' ? CALLS_MAX : REQUESTS_MAX) }
    // One that is asked too little dies later.
    setTimeout(() => this.#killDoomed(node), kind === 'time' ? random.integer(LIFE_MAX / 2) : LIFE_MAX)
  }

  #killSoon(node: Node, milliseconds: number): void {
    node.death ??= { kind: 'time' }
    setTimeout(() => this.#killDoomed(node), this.#options.random.integer(milliseconds))
  }

  #killDoomed(node: Node): void {
    if (node.death !== undefined && !this.#isStopping) this.#kill(node)
  }

  #kill(node: Node): void {
    if (node.wasKilled || this.#running.get(node.slot) !== node) return
    node.wasKilled = true
    node.command.child.kill('SIGKILL')
  }

  #ended(node: Node, code: number | null, stderr: string): void {
    this.#running.delete(node.slot)
    this.#noteErrors(stderr)
    if (node.wasKilled) {
      this.kills++
      if (!this.#isStopping) void this.#start(node.slot)
    } else if (!this.#isStopping) {
      this.violations.push(`${node.name} ended by itself with ${code}: ${stderr.slice(-2_000)}`)
    }
    this.#changed()
  }

  #noteErrors(stderr: string): void {
    for (const line of stderr.split('\n')) {
      if (!/"level":"(error|fatal)"/.test(line) || this.errors.size >= ERRORS_KEPT) continue
      const event = /"event":"([^"]*)"/.exec(line)?.[1] ?? line
      if (!this.errors.has(event)) this.errors.set(event, line)
    }
  }
}

const JSON_BODY = { 'content-type': 'application/json' }

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}
