/** Nodes with a directory each, which report its version to each other; a test decides what each of them reaches. */
import { expect, it } from 'vitest'
import { DirectoryCurrency } from '../../../src/access/clients/directory-currency.ts'
import { captureLog } from '../../support/captured-log.ts'
import { NodeExchange, testNode } from '../../support/node-exchange.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const STALE_SECONDS = 60
const MINUTES = 60_000

class Cluster {
  readonly clock = new VirtualClock()
  readonly exchange = new NodeExchange(this.clock)
  /** The version of the last change in the store. */
  version = 7
  readonly nodes = [this.#node('a'), this.#node('b')] as const

  constructor() {
    // Each reads the store twice a second, as the loader does.
    const read = () => {
      for (const node of this.nodes)
        if (node.reachesStore) {
          node.loader.loadedVersion = this.version
          node.loader.loadedMilliseconds = this.clock.monotonicMilliseconds()
        }
      this.clock.schedule(500, read)
    }
    read()
    this.clock.advance(10_000)
  }

  #node(name: string) {
    const { clock, exchange } = this
    const loader = { loadedVersion: 0, loadedMilliseconds: 0 }
    const { nodes, state, id } = testNode({ clock, exchange, name: `${name}:1` })
    const { log, lines } = captureLog()
    const bus = { isConnected: () => node.reachesBus, versions: () => nodes.directoryVersions }
    const currency = new DirectoryCurrency({ clock, log, staleSeconds: STALE_SECONDS, loader, bus })
    Object.defineProperty(state, 'directoryVersion', { get: () => currency.reportedVersion })
    const node = {
      loader,
      currency,
      nodes,
      lines,
      reachesStore: true,
      reachesBus: true,
      cutFromBus() {
        this.reachesBus = false
        exchange.cut.add(id)
      },
    }
    return node
  }

  get stale(): boolean[] {
    return this.nodes.map(({ currency }) => currency.isStale)
  }
}

it('an outage of the store for all nodes makes none of them stale, however long', () => {
  const { clock, nodes, ...cluster } = new Cluster()
  for (const node of nodes) node.reachesStore = false
  for (let minute = 0; minute < 10; minute++) {
    clock.advance(MINUTES)
    expect(nodes.map(({ currency }) => currency.isStale)).toEqual([false, false])
  }
  expect(cluster.exchange.cut.size).toBe(0)
  // One of them reaches it first: what it has read by then is what the other has.
  nodes[0].reachesStore = true
  clock.advance(2 * MINUTES)
  expect(nodes.map(({ currency }) => currency.isStale)).toEqual([false, false])
})

it('a node that is cut off from the store is current while it has the version that the others report', () => {
  const cluster = new Cluster()
  const [here, there] = cluster.nodes
  here.reachesStore = false
  cluster.clock.advance(10 * MINUTES)
  expect(cluster.stale).toEqual([false, false])
  expect(there.nodes.others.map(({ directory_version }) => directory_version)).toEqual([undefined])
  expect(here.nodes.others.map(({ directory_version }) => directory_version)).toEqual([7])
})

it('a node that is cut off from the store is stale 60 s after a change that it did not get, and current once it has it', () => {
  const cluster = new Cluster()
  const [here] = cluster.nodes
  here.reachesStore = false
  cluster.clock.advance(10 * MINUTES)
  cluster.version = 8
  cluster.clock.advance(59_000)
  expect(cluster.stale).toEqual([false, false])
  cluster.clock.advance(3_000)
  expect(cluster.stale).toEqual([true, false])
  expect(here.lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 50 }])
  here.reachesStore = true
  cluster.clock.advance(1_500)
  expect(cluster.stale).toEqual([false, false])
  expect(here.lines.map((line) => JSON.parse(line).level)).toEqual([50, 30])
})

it('a node that is cut off from the store and from the bus is stale after 60 s', () => {
  const cluster = new Cluster()
  const [here] = cluster.nodes
  here.reachesStore = false
  here.cutFromBus()
  cluster.clock.advance(59_000)
  expect(cluster.stale).toEqual([false, false])
  cluster.clock.advance(6_000)
  expect(cluster.stale).toEqual([true, false])
})

it('a node that is cut off from the bus alone is current', () => {
  const cluster = new Cluster()
  cluster.nodes[0].cutFromBus()
  cluster.clock.advance(10 * MINUTES)
  expect(cluster.stale).toEqual([false, false])
})

it('a node that has a later version than the others, as after a restored backup, is not current without the store', () => {
  const cluster = new Cluster()
  cluster.nodes[0].reachesStore = false
  cluster.clock.advance(5_000)
  cluster.version = 5
  cluster.clock.advance(2 * MINUTES)
  expect(cluster.stale).toEqual([true, false])
})

it('a node that was suspended is stale until it has heard the others or read the store', () => {
  const cluster = new Cluster()
  const [here] = cluster.nodes
  here.reachesStore = false
  cluster.clock.advance(5_000)
  // Nothing ran meanwhile, and what the others reported is no longer known.
  cluster.clock.standStill(10 * MINUTES)
  expect(here.currency.isStale).toBe(true)
  cluster.clock.advance(5_000)
  expect(cluster.stale).toEqual([false, false])
})

it('a node without a bus is stale after the configured time without the store, and never with 0', () => {
  const clock = new VirtualClock()
  const loader = { loadedVersion: 1, loadedMilliseconds: 0 }
  const { log } = captureLog()
  const [minute, never] = [60, 0].map((staleSeconds) => new DirectoryCurrency({ clock, log, staleSeconds, loader }))
  clock.advance(60_000)
  expect([minute?.isStale, never?.isStale]).toEqual([false, false])
  clock.advance(5_000)
  expect([minute?.isStale, never?.isStale]).toEqual([true, false])
})
