/**
 * A service with two simulated markets that is disturbed in one way after the other. A reload changes a market's
 * decimals, or removes and adds it again. The operator closes the connections. The network between it and its client
 * breaks them, or swallows everything. It is stopped, and killed. Its client has to reach it through `ws`, which leads
 * over that network.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCommand } from './command-line.ts'
import { claimPort } from './ports.ts'
import { market, OperatorApi } from './running-service.ts'
import { TcpProxy } from './tcp-proxy.ts'

const AWAY_MILLISECONDS = 4_000
/** Longer than any client waits for the next heartbeat, which comes every second. */
const SWALLOWED_MILLISECONDS = 18_000

export class DisturbedService {
  readonly #folder: string
  readonly #ports: Readonly<Record<string, number>>
  readonly #network: TcpProxy
  #command: ReturnType<typeof startCommand> | undefined
  #decimals = 2
  operator!: OperatorApi
  http = ''
  /** Without the network between them. */
  directWs = ''
  readonly ws: string

  private constructor(folder: string, ports: Readonly<Record<string, number>>, network: TcpProxy) {
    this.#folder = folder
    this.#ports = ports
    this.#network = network
    this.ws = `ws://127.0.0.1:${network.port}`
  }

  /** `folder`: for its data and its configuration. */
  static async start(folder: string): Promise<DisturbedService> {
    // The same after a restart.
    const port = await claimPort()
    const ports = { 'http.port': port, 'operator.port': await claimPort() }
    const service = new DisturbedService(folder, ports, await TcpProxy.listen(port))
    await service.#start()
    return service
  }

  async #start(): Promise<void> {
    this.#configure(true)
    const ports = Object.entries(this.#ports).flatMap(([name, port]) => [`--${name}`, String(port)])
    const data = ['--data_dir', join(this.#folder, 'data'), '--simulator.rate', '50', '--stream.drain_seconds', '0']
    this.#command = startCommand(['serve', '--config', this.#file, ...ports, ...data])
    const ready = JSON.parse(await this.#command.line((line) => line.startsWith('{"ready":true')))
    this.operator = new OperatorApi(ready.operator, join(this.#folder, 'data'))
    this.http = ready.http
    this.directWs = ready.ws
  }

  get #file(): string {
    return join(this.#folder, 'tidegate.yaml')
  }

  #configure(hasEther: boolean): void {
    const markets = [market('BTC', this.#decimals, 50), ...(hasEther ? [market('ETH', 2, 50)] : [])]
    writeFileSync(this.#file, JSON.stringify({ simulator: { allowed: true }, markets }))
  }

  /** One disturbance after the other. Each lasts a few seconds. */
  async disturb(number: number): Promise<void> {
    const child = this.#command?.child
    switch (number % 7) {
      case 0:
        this.#decimals = 5 - this.#decimals
        this.#configure(true)
        child?.kill('SIGHUP')
        return
      case 1:
        this.#configure(false)
        child?.kill('SIGHUP')
        await sleep(AWAY_MILLISECONDS)
        this.#configure(true)
        child?.kill('SIGHUP')
        return
      case 2: {
        const { items } = await this.operator.call<{ items: { id: string }[] }>('GET', '/connections')
        for (const { id } of items) await this.operator.call('DELETE', `/connections/${id}`)
        return
      }
      case 3:
        this.#network.cut()
        return
      case 4:
        this.#network.freeze()
        await sleep(SWALLOWED_MILLISECONDS)
        this.#network.thaw()
        return
      default:
        await this.#end(number % 7 === 5 ? 'SIGTERM' : 'SIGKILL')
        await this.#start()
    }
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#network.close()
    await this.#end(signal)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#command?.child.kill(signal)
    await this.#command?.result
  }
}
