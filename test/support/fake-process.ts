/** A gateway process's end of its channel, for tests of the main process. */
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { expect } from 'vitest'
import type { FromGatewayProcess, ToGatewayProcess } from '../../src/streaming/gateway/process-messages.ts'

/** A process that answers pings, unless it is frozen, and questions as the test says. */
export class FakeProcess extends EventEmitter {
  pid: number | undefined
  connected = true
  exitCode = null
  signalCode: string | null = null
  readonly written: Buffer[] = []
  readonly stdio: readonly (Duplex | null)[]
  readonly received: ToGatewayProcess[] = []
  isFrozen = false
  answers: Readonly<Record<string, unknown>> = {}

  constructor(pid: number | undefined) {
    super()
    this.pid = pid
    const { written } = this
    const pipe = new Duplex({
      read: () => undefined,
      write(bytes, _encoding, done) {
        written.push(bytes)
        done()
      },
    })
    this.stdio = [null, null, null, null, pipe]
  }

  send(message: ToGatewayProcess): void {
    this.received.push(message)
    if (this.isFrozen) return
    if (message.type === 'ping') this.tell({ type: 'pong' })
    if (message.type === 'question' && message.name in this.answers) {
      this.tell({ type: 'answer', number: message.number, answer: this.answers[message.name] })
    }
  }

  tell(message: FromGatewayProcess): void {
    this.emit('message', message)
  }

  count(total: number, ...clients: [string, number][]): void {
    const holders = clients.map(([id, connections]) => [id, { connections, subscriptions: 2 * connections }] as const)
    this.tell({ type: 'counts', counts: { total, holders } })
  }

  /** The others' connections, as it was sent them last. */
  get others() {
    const last = this.received.findLast((message) => message.type === 'others')
    if (last?.type !== 'others') return undefined
    const { total, holders } = last.counts
    for (const [, { connections, subscriptions }] of holders) expect(subscriptions).toBe(2 * connections)
    return { total, clients: holders.map(([id, { connections }]) => [id, connections]) }
  }

  types(): string[] {
    return this.received.map(({ type }) => type)
  }

  disconnect(): void {
    this.end(0, null)
  }

  kill(signal: string): void {
    this.end(null, signal)
  }

  end(code: number | null, signal: string | null): void {
    this.signalCode = signal
    this.connected = false
    this.emit('exit', code, signal)
  }
}
