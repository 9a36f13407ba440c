/**
 * The service's nodes as this one knows them: each announces itself once a second. A stopped node is forgotten at once.
 * A silent one is kept for a while, so the operator sees that it is missing. Nodes with other market definitions are
 * counted, and logged once. Without a bus there is only this node.
 */
import { type Clock, millisecondText, type Timer } from '../../platform/base/clock.ts'
import type { Log } from '../../platform/base/log.ts'
import { Gauge, type MetricsRegistry } from '../../platform/base/metrics.ts'
import { decodeAnnouncement, encodeAnnouncement, type NodeAnnouncement } from './announcement.ts'

const ANNOUNCE_MILLISECONDS = 1_000
/** A node is silent when three announcements are missing. */
const SILENT_MILLISECONDS = 3_500
const FORGET_MILLISECONDS = 300_000
/** More nodes are not kept: each takes about 1 KB. */
const NODES_MAX = 1_000

/** What carries messages between nodes. They may be lost, and are delivered at most once. */
export interface NodeTransport {
  /** This node's identifier. */
  readonly node: string
  /** The most bytes in one message. */
  readonly payloadBytesMax: number
  announce(bytes: Buffer): void
  onAnnouncement(take: (bytes: Buffer) => void): void
  /** Sends a question to one node. The answer comes to `onAnswer`. */
  ask(node: string, bytes: Buffer): void
  onQuestion(take: (bytes: Buffer, answer: (bytes: Buffer) => void) => void): void
  onAnswer(take: (bytes: Buffer) => void): void
}

export interface NodesOptions {
  /** Undefined without a bus. */
  readonly transport: NodeTransport | undefined
  readonly self: Pick<NodeAnnouncement, 'id' | 'name' | 'roles' | 'version' | 'started_at'>
  /** This node's current market definitions. */
  readonly definitions: () => Pick<NodeAnnouncement, 'markets' | 'definitions'>
  /** The version of this node's customers and clients. Undefined while it does not reach the store. */
  readonly directoryVersion: () => number | undefined
  readonly isReady: () => boolean
  readonly clock: Clock
  readonly log: Log
  readonly metrics: MetricsRegistry
}

/** A node as the operator API shows it. */
export interface NodeDocument extends Omit<NodeAnnouncement, 'stopped'> {
  /** Whether this is the answering node. */
  readonly self: boolean
  /** `silent`: no announcement for more than 3.5 seconds, and no notice that it stops. */
  readonly state: 'present' | 'silent'
  readonly seen_at: string
  /** Whether its market definitions match the answering node's. */
  readonly same_definitions: boolean
}

interface HeardNode {
  readonly announcement: NodeAnnouncement
  /** Last receipt, by the monotonic clock and by the wall clock. */
  readonly heardMilliseconds: number
  readonly seenMilliseconds: number
}

export class Nodes {
  readonly #options: NodesOptions
  readonly #heard = new Map<string, HeardNode>()
  /** Nodes already logged because their definitions differ. */
  #logged = new Set<string>()
  #timer: Timer | undefined

  constructor(options: NodesOptions) {
    this.#options = options
    const { transport } = options
    if (transport === undefined) return
    transport.onAnnouncement((bytes) => this.#hear(bytes))
    this.#registerMetrics()
    this.#timer = options.clock.schedule(0, () => this.#tick())
  }

  /** This node's name. */
  get name(): string {
    return this.#options.self.name
  }

  /** This node first, then the others by name. */
  get all(): readonly NodeDocument[] {
    const now = this.#options.clock.wallInstant().milliseconds
    const self = { self: true, state: 'present', seen_at: millisecondText(now), same_definitions: true } as const
    return [{ ...this.#own(), ...self }, ...this.others]
  }

  /** The other nodes, by name. */
  get others(): readonly NodeDocument[] {
    const { definitions } = this.#options.definitions()
    const now = this.#options.clock.monotonicMilliseconds()
    return [...this.#heard.values()]
      .map(
        ({ announcement, heardMilliseconds, seenMilliseconds }): NodeDocument => ({
          ...announcement,
          self: false,
          state: now - heardMilliseconds > SILENT_MILLISECONDS ? 'silent' : 'present',
          seen_at: millisecondText(seenMilliseconds),
          same_definitions: announcement.definitions === definitions,
        }),
      )
      .sort((left, right) => (left.name < right.name ? -1 : 1))
  }

  /** Other present nodes with other market definitions. */
  get differing(): readonly NodeDocument[] {
    return this.others.filter((node) => node.state === 'present' && !node.same_definitions)
  }

  /** The customer and client versions on other present nodes that reach the store. */
  get directoryVersions(): readonly number[] {
    return this.others.flatMap(({ state, directory_version }) =>
      state === 'present' && directory_version !== undefined ? [directory_version] : [],
    )
  }

  /** Tells the others that this node stops. */
  stop(): void {
    this.#timer?.cancel()
    this.#options.transport?.announce(encodeAnnouncement({ ...this.#own(), stopped: true }))
  }

  #own(): NodeAnnouncement {
    const { self, definitions, directoryVersion, isReady } = this.#options
    const version = directoryVersion()
    return {
      ...self,
      ...definitions(),
      ...(version === undefined ? {} : { directory_version: version }),
      ready: isReady(),
    }
  }

  #tick(): void {
    const { clock, transport } = this.#options
    this.#timer = clock.schedule(ANNOUNCE_MILLISECONDS, () => this.#tick())
    transport?.announce(encodeAnnouncement(this.#own()))
    this.#forget(clock.monotonicMilliseconds())
    this.#logDiffering()
  }

  /** A silent node is forgotten after a while, or when its process was started again. */
  #forget(now: number): void {
    const isSilent = ({ heardMilliseconds }: HeardNode) => now - heardMilliseconds > SILENT_MILLISECONDS
    const heard = [...this.#heard.values()]
    const present = new Set(heard.filter((node) => !isSilent(node)).map(({ announcement }) => announcement.name))
    for (const node of heard.filter(isSilent)) {
      const { id, name } = node.announcement
      if (present.has(name) || now - node.heardMilliseconds > FORGET_MILLISECONDS) this.#heard.delete(id)
    }
  }

  #hear(bytes: Buffer): void {
    const announcement = decodeAnnouncement(bytes)
    if (announcement === undefined || announcement.id === this.#options.transport?.node) return
    const { id, stopped } = announcement
    if (stopped === true) {
      this.#heard.delete(id)
      return
    }
    if (!this.#heard.has(id) && this.#heard.size >= NODES_MAX) return
    const { clock } = this.#options
    this.#heard.set(id, {
      announcement,
      heardMilliseconds: clock.monotonicMilliseconds(),
      seenMilliseconds: clock.wallInstant().milliseconds,
    })
  }

  #logDiffering(): void {
    const { differing } = this
    for (const { id, name, markets, definitions } of differing) {
      if (this.#logged.has(id)) continue
      this.#options.log.warn({ node: name, markets, definitions }, 'another node has other market definitions')
    }
    this.#logged = new Set(differing.map(({ id }) => id))
  }

  #registerMetrics(): void {
    const nodes = this
    const registers = [this.#options.metrics]
    new Gauge({
      name: 'tidegate_nodes',
      help: 'Nodes that announce themselves, including this one',
      registers,
      collect() {
        this.set(1 + nodes.others.filter(({ state }) => state === 'present').length)
      },
    })
    new Gauge({
      name: 'tidegate_nodes_differing',
      help: 'Other nodes with market definitions different from this node’s',
      registers,
      collect() {
        this.set(nodes.differing.length)
      },
    })
  }
}
