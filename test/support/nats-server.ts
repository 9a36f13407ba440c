/**
 * A NATS server for tests: its own process on a port of this machine, which can be killed, started again and suspended.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { once } from './awaited.ts'
import { NATS_SERVER } from './foreign-programs.ts'
import { claimPort } from './ports.ts'
import { Waiters } from './waiters.ts'

interface NatsServerOptions {
  readonly user?: string
  readonly password?: string
  readonly token?: string
  /** PEM files. Clients then need TLS, and with `clientCaFile` a certificate from that authority. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile?: string }
  /** More lines for the server's configuration. */
  readonly lines?: readonly string[]
}

export class NatsServer {
  /** Without user, password or token. */
  readonly url: string
  readonly port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'tidegate-nats-'))
  readonly #waiters = new Waiters()
  #process: ChildProcess | undefined
  #log = ''

  private constructor(port: number, options: NatsServerOptions) {
    this.port = port
    this.url = `${options.tls === undefined ? 'nats' : 'tls'}://127.0.0.1:${port}`
    this.configure(options)
  }

  static async start(options: NatsServerOptions = {}): Promise<NatsServer> {
    const server = new NatsServer(await claimPort(), options)
    await server.restart()
    return server
  }

  /** Replaces the configuration, for the next start. */
  configure({ user, password, token, tls, lines = [] }: NatsServerOptions): void {
    const all = [
      `listen: "127.0.0.1:${this.port}"`,
      ...(user === undefined ? [] : [`authorization { user: "${user}", password: "${password}" }`]),
      ...(token === undefined ? [] : [`authorization { token: "${token}" }`]),
      ...(tls === undefined ? [] : [`tls { cert_file: "${tls.certFile}", key_file: "${tls.keyFile}"`]),
      ...(tls?.clientCaFile === undefined ? [] : [`ca_file: "${tls.clientCaFile}", verify: true`]),
      ...(tls === undefined ? [] : ['}']),
      ...lines,
    ]
    writeFileSync(this.#file, `${all.join('\n')}\n`, { mode: 0o600 })
  }

  get #file(): string {
    return join(this.#folder, 'nats.conf')
  }

  /** Starts it, on the same port, if it does not run. Resolves when it accepts connections. */
  async restart(): Promise<void> {
    if (this.#process !== undefined) return
    const process = spawn(NATS_SERVER.file, ['-c', this.#file], { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#process = process
    this.#log = ''
    createInterface({ input: process.stderr }).on('line', (line) => {
      this.#log += `${line}\n`
      this.#waiters.notify()
    })
    await this.logged('Server is ready')
  }

  /** Resolves when this run's log contains the text. */
  logged(text: string): Promise<void> {
    return this.#waiters.until(text, () => this.#log.includes(text))
  }

  /** Ends it at once, without notice to its clients. Resolves when it has ended. */
  async kill(): Promise<void> {
    const process = this.#process
    this.#process = undefined
    if (process === undefined) return
    process.kill('SIGKILL')
    await once(process, 'exit')
  }

  /** Kills it and removes its files. */
  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Suspends it: connections stay open, and nothing is answered. */
  suspend(): void {
    this.#process?.kill('SIGSTOP')
  }

  resume(): void {
    this.#process?.kill('SIGCONT')
  }
}
