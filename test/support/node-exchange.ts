/** Carries messages between nodes, in one process and by a clock. Also one node, with others or alone. */
import type { Clock } from '../../src/platform/base/clock.ts'
import { newId } from '../../src/platform/base/ids.ts'
import { createLog, type Log } from '../../src/platform/base/log.ts'
import { createMetricsRegistry } from '../../src/platform/base/metrics.ts'
import { translateStoreError } from '../../src/service/listeners/listener.ts'
import { Nodes, type NodeTransport } from '../../src/streaming/cluster/nodes.ts'
import { NodeQuestions } from '../../src/streaming/cluster/questions.ts'

interface Attached {
  announcement?: (bytes: Buffer) => void
  question?: (bytes: Buffer, answer: (bytes: Buffer) => void) => void
  answer?: (bytes: Buffer) => void
}

export class NodeExchange {
  readonly #clock: Clock
  readonly #nodes = new Map<string, Attached>()
  /** Nodes that neither send nor receive. */
  readonly cut = new Set<string>()
  /** Each answer's size in bytes. */
  readonly answers: number[] = []
  payloadBytesMax = 1_048_576

  constructor(clock: Clock) {
    this.#clock = clock
  }

  transportOf(node: string): NodeTransport {
    const exchange = this
    const attached: Attached = {}
    this.#nodes.set(node, attached)
    return {
      node,
      get payloadBytesMax() {
        return exchange.payloadBytesMax
      },
      announce: (bytes) => {
        for (const [other, { announcement }] of this.#nodes) {
          if (other !== node) this.#deliver(node, other, () => announcement?.(bytes))
        }
      },
      onAnnouncement: (take) => void Object.assign(attached, { announcement: take }),
      ask: (other, bytes) =>
        this.#deliver(node, other, () =>
          this.#nodes.get(other)?.question?.(bytes, (answer) => {
            this.answers.push(answer.length)
            this.#deliver(other, node, () => attached.answer?.(answer))
          }),
        ),
      onQuestion: (take) => void Object.assign(attached, { question: take }),
      onAnswer: (take) => void Object.assign(attached, { answer: take }),
    }
  }

  #deliver(from: string, to: string, deliver: () => void): void {
    this.#clock.schedule(1, () => {
      if (!this.cut.has(from) && !this.cut.has(to)) deliver()
    })
  }
}

interface TestNodeOptions {
  readonly clock: Clock
  readonly name?: string
  readonly roles?: readonly string[]
  readonly exchange?: NodeExchange
  readonly log?: Log
}

/** A node without an exchange is the only one. `state` can be changed. */
export function testNode({ clock, name = 'test:1', roles = ['gateway'], exchange, log }: TestNodeOptions) {
  const id = newId()
  const state = {
    ready: true,
    definitions: { markets: 1, definitions: 'd1' },
    directoryVersion: undefined as number | undefined,
  }
  const metrics = createMetricsRegistry()
  const transport = exchange?.transportOf(id)
  const shared = { transport, clock, log: log ?? createLog('silent'), metrics }
  const self = { id, name, roles, version: '1.2.3', started_at: '2026-11-23T00:00:00.000Z' }
  const nodes = new Nodes({
    ...shared,
    self,
    definitions: () => state.definitions,
    directoryVersion: () => state.directoryVersion,
    isReady: () => state.ready,
  })
  const questions = new NodeQuestions({ ...shared, translate: translateStoreError })
  return { id, name, nodes, questions, state, metrics }
}
