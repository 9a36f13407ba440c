/**
 * A market that an engine of the test publishes, which keeps all of its messages, and which a feed pulls. The engine writes down
 * what it publishes, and everything that verifiers have seen is compared with that.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type { ChainVerifier } from './chain-verifier.ts'
import { CLUSTER_POLL } from './cluster-watch.ts'
import { PublishedRecord, PublishedRecorder } from './published-record.ts'
import { PublishingEngine } from './publishing-engine.ts'
import { Random } from './random.ts'
import { TestPublisher } from './test-publisher.ts'

const TOKEN = 'token-of-the-engine'
const STEP_MILLISECONDS = 200
const HEARTBEAT_MILLISECONDS = 1_000

export class PublishedMarket {
  /** Its venue, and the name of its feed. */
  static readonly venue = 'engine'
  readonly symbol: string
  readonly #record: PublishedRecord
  readonly #publisher: TestPublisher
  readonly #stepping: NodeJS.Timeout

  private constructor(engine: PublishingEngine, publisher: TestPublisher, path: string) {
    this.symbol = engine.symbol
    this.#publisher = publisher
    const recorder = new PublishedRecorder(path)
    recorder.add(engine)
    this.#record = new PublishedRecord(path)
    this.#stepping = setInterval(() => {
      const message = engine.step()
      recorder.add(engine, message)
      publisher.publish(message)
    }, STEP_MILLISECONDS)
  }

  /** @param folder for the record */
  static async start(symbol: string, folder: string, seed: number): Promise<PublishedMarket> {
    const keptMax = Number.POSITIVE_INFINITY
    const engine = new PublishingEngine({ symbol, random: new Random(seed), publishesOrders: true, keptMax })
    const options = { token: TOKEN, heartbeatMilliseconds: HEARTBEAT_MILLISECONDS }
    return new PublishedMarket(
      engine,
      await TestPublisher.start([engine], options),
      join(mkdtempSync(join(folder, 'published-')), 'record'),
    )
  }

  /** The setting `feeds`. */
  get feeds() {
    return { [PublishedMarket.venue]: { kind: 'tidegate', url: this.#publisher.url, token: TOKEN } }
  }

  async stop(): Promise<void> {
    clearInterval(this.#stepping)
    await this.#publisher.kill()
    this.#record.close()
  }

  /** Resolves when every verifier has had a digest of something that was published after this moment. */
  async reached(verifiers: readonly ChainVerifier[]): Promise<void> {
    this.#record.follow()
    const from = this.#record.length(this.symbol)
    const placeOf = (verifier: ChainVerifier) => this.#record.placeOf(this.symbol, verifier.lastOrigin(this.symbol))
    await vi.waitFor(() => {
      this.#record.follow()
      const late = verifiers.filter((verifier) => placeOf(verifier) < from)
      expect(
        late.map(({ name }) => name),
        'without later books of the engine',
      ).toEqual([])
    }, CLUSTER_POLL)
  }

  /** Everything in which what the verifiers have seen differs from what was published, or from the protocol. */
  problems(verifiers: readonly ChainVerifier[]): readonly string[] {
    this.#record.follow()
    return verifiers.flatMap((verifier) => [
      ...verifier.problems.map((problem) => `${verifier.name}: ${problem}`),
      ...this.#record.compare(verifier, this.symbol).problems,
    ])
  }
}
