/**
 * What must be true in a cluster whatever fails: every reader gets fresh books for every market again, no stream rule
 * was broken, no time went back, no audit found a difference, one process leads, and every running process is ready and
 * connected by itself.
 */
import { expect, vi } from 'vitest'
import type { Cluster } from './cluster.ts'
import type { ClusterReader } from './cluster-reader.ts'

/** Only ends hanging waits: everything takes some seconds on an otherwise idle machine. */
export const CLUSTER_POLL = { timeout: 120_000, interval: 100 }

const AUDITS = [
  'tidegate_self_audit_mismatches_total',
  'tidegate_bus_audit_mismatches_total',
  'tidegate_ledger_imbalance',
  'tidegate_invariant_violations_total',
]

export class ClusterWatch {
  readonly #cluster: Cluster
  readonly #readers: readonly ClusterReader[]
  readonly #markets: readonly string[]

  constructor(cluster: Cluster, readers: readonly ClusterReader[], markets: readonly string[]) {
    this.#cluster = cluster
    this.#readers = readers
    this.#markets = markets
  }

  /** Resolves when every reader has had a book message for every market since that time. */
  async fresh(since: number): Promise<void> {
    const isFresh = ({ received }: ClusterReader) =>
      this.#markets.every((market) => (received.get(market) ?? 0) > since)
    await vi.waitFor(() => expect(this.#readers.filter((reader) => !isFresh(reader))).toHaveLength(0), CLUSTER_POLL)
  }

  /** Resolves with the leading process's name, once one leads. */
  leader(): Promise<string> {
    return vi.waitFor(async () => {
      const leaders = await this.#cluster.leaders()
      expect(leaders).toHaveLength(1)
      return leaders[0] as string
    }, CLUSTER_POLL)
  }

  /** Resolves when every process is ready and connected to NATS. Fails when one has ended. */
  async ready(): Promise<void> {
    await vi.waitFor(async () => {
      for (const name of this.#cluster.names) {
        const { operator, command } = this.#cluster.process(name)
        expect(command.child.exitCode, `${name} ended`).toBeNull()
        expect(await operator.metric('tidegate_bus_connected'), `${name} and NATS`).toBe(1)
        const response = await fetch(`${operator.url}/readyz`)
        expect(response.status, `${name}: ${await response.text()}`).toBe(200)
      }
    }, CLUSTER_POLL)
  }

  /** Everything wrong so far. Empty for a correct service. */
  async problems(): Promise<readonly string[]> {
    const audits = await Promise.all(AUDITS.map(async (name) => [name, await this.#sum(name)] as const))
    return [
      ...this.#readers.flatMap(({ violations, earlierTimes }) => [
        // How late heartbeats are depends on how busy the machine is.
        ...violations.filter(({ name }) => name !== 'heartbeat-late').map((violation) => JSON.stringify(violation)),
        ...earlierTimes,
      ]),
      ...audits.filter(([, sum]) => sum !== 0).map(([name, sum]) => `${name} ${sum}`),
    ]
  }

  /** How many of the readers' connections have ended with this close code. */
  closes(code: number): number {
    return this.#readers.reduce((sum, { closes }) => sum + (closes.get(code) ?? 0), 0)
  }

  /** A metric's sum over processes and labels. */
  async #sum(metric: string): Promise<number> {
    let sum = 0
    for (const name of this.#cluster.names) {
      const lines = (await this.#cluster.process(name).operator.metricsText()).split('\n')
      for (const line of lines)
        if (line.startsWith(`${metric}{`) || line.startsWith(`${metric} `)) sum += Number(line.split(' ').at(-1))
    }
    return sum
  }
}
