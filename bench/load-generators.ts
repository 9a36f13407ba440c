/**
 * Native load generators (native/reader.c) that share the machine's cores. Each is a process with an equal part of the
 * connections and its own loopback address, because a process may have 20,000 open files and an address 28,000 ports.
 */
import type { Answer } from './fanout-driver.ts'
import { Peer } from './fanout-processes.ts'
import { secondsOf } from './process-time.ts'

const JOIN_MILLISECONDS_MAX = 900_000
const HEARTBEAT_REQUEST = JSON.stringify({ type: 'subscribe', channels: [{ type: 'heartbeat' }] })
/** A subscription's reply, and the first heartbeat. */
const HEARTBEAT_GREETING = 2

export interface Joined {
  readonly connections: number
  /** Between the first upgrade and the last one. */
  readonly seconds: number
}

export class LoadGenerators {
  readonly #peers: readonly Peer[]

  /** @param firstAddress the last number of the first one's address, 127.0.0.x */
  constructor(program: string, port: number, count: number, firstAddress: number) {
    this.#peers = Array.from({ length: count }, (_, place) => {
      const address = `127.0.0.${firstAddress + place}`
      return new Peer('load generator', undefined, program, [String(port), 'shared', address])
    })
  }

  /** One of them, whose connections can have further subscriptions. */
  get last(): Peer {
    return this.#peers.at(-1) as Peer
  }

  /** Connects with these tokens. */
  async join(tokens: readonly string[]): Promise<Joined> {
    const size = Math.ceil(tokens.length / this.#peers.length)
    for (const [place, peer] of this.#peers.entries()) {
      const part = tokens.slice(place * size, (place + 1) * size)
      peer.send([String(part.length), ...part.map((token) => `0\t/\t${HEARTBEAT_REQUEST}\t${token}`)].join('\n'))
    }
    const answers = await Promise.all(this.#peers.map((peer) => peer.answer(JOIN_MILLISECONDS_MAX)))
    const times = (name: string) => answers.map((answer) => answer[name] as number).filter((time) => time > 0)
    return {
      connections: sumOf(answers, 'connected'),
      seconds: (Math.max(...times('last')) - Math.min(...times('first'))) / 1_000_000,
    }
  }

  /** Sends the requests spread over the time. Resolves when all connections have a heartbeat. */
  async subscribeToHeartbeats(milliseconds: number): Promise<void> {
    await this.ask(`subscribe ${milliseconds} ${HEARTBEAT_GREETING}`)
  }

  /** The same command to each, with each one's answer. */
  ask(command: string): Promise<readonly Answer[]> {
    return Promise.all(this.#peers.map((peer) => peer.ask(command)))
  }

  seconds(): number {
    return this.#peers.reduce((sum, peer) => sum + secondsOf(peer.pid), 0)
  }

  async end(): Promise<void> {
    await Promise.all(this.#peers.map((peer) => peer.end()))
  }
}

export function sumOf(answers: readonly Answer[], name: string): number {
  return answers.reduce((sum, answer) => sum + (answer[name] as number), 0)
}
