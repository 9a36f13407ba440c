/**
 * A market published by the test's own engine, which keeps all its messages: a feed pulls it, or the engine pushes it
 * to the leading feed. The engine records its publications, and everything that verifiers have seen is compared with
 * them.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { Publisher } from '../../packages/publisher/publisher.mjs'
import type { ChainVerifier } from './chain-verifier.ts'
import { CLUSTER_POLL } from './cluster-watch.ts'
import { PublishedRecord, PublishedRecorder } from './published-record.ts'
import { membersOf, PublishingEngine, type WireMessage } from './publishing-engine.ts'
import { Random } from './random.ts'
import { TestPublisher } from './test-publisher.ts'

type PushedTo = Pick<ConstructorParameters<typeof Publisher>[0], 'url' | 'authUrl' | 'clientId' | 'clientSecret'>

function newEngine(symbol: string, seed: number, publishesOrders: boolean): PublishingEngine {
  return new PublishingEngine({ symbol, random: new Random(seed), publishesOrders, keptMax: Number.POSITIVE_INFINITY })
}

const TOKEN = 'token-of-the-engine'
const STEP_MILLISECONDS = 200
const HEARTBEAT_MILLISECONDS = 1_000

export class PublishedMarket {
  /** Its venue, and the name of its feed. */
  static readonly venue = 'engine'
  readonly symbol: string
  readonly #record: PublishedRecord
  readonly #end: () => Promise<void>
  readonly #stepping: NodeJS.Timeout

  private constructor(
    engine: PublishingEngine,
    folder: string,
    publish: (message: WireMessage) => void,
    end: () => Promise<void>,
  ) {
    this.symbol = engine.symbol
    this.#end = end
    const path = join(mkdtempSync(join(folder, 'published-')), 'record')
    const recorder = new PublishedRecorder(path)
    recorder.add(engine)
    this.#record = new PublishedRecord(path)
    this.#stepping = setInterval(() => {
      const message = engine.step()
      recorder.add(engine, message)
      publish(message)
    }, STEP_MILLISECONDS)
  }

  /**
   * A market that a feed pulls, and the setting `feeds` for it.
   *
   * @param folder for the record
   */
  static async pulled(symbol: string, folder: string, seed: number) {
    const engine = newEngine(symbol, seed, true)
    const options = { token: TOKEN, heartbeatMilliseconds: HEARTBEAT_MILLISECONDS }
    const publisher = await TestPublisher.start([engine], options)
    const published = new PublishedMarket(
      engine,
      folder,
      (message) => publisher.publish(message),
      () => publisher.kill(),
    )
    return { published, feeds: { [PublishedMarket.venue]: { kind: 'tidegate', url: publisher.url, token: TOKEN } } }
  }

  /**
   * A market that the engine pushes, with the adapters' library.
   *
   * @param folder for the record
   * @param ingest the listeners' addresses, and the engine's client
   */
  static pushed(symbol: string, folder: string, seed: number, ingest: PushedTo): PublishedMarket {
    const engine = newEngine(symbol, seed, false)
    const publisher = new Publisher({
      ...ingest,
      markets: [symbol],
      snapshotOf: () => membersOf<'snapshotOf'>(engine.snapshot()),
      backoffMillisecondsMax: 1_000,
      log: () => undefined,
    })
    publisher.begin(symbol, engine.epoch)
    publisher.snapshot(symbol)
    publisher.start()
    return new PublishedMarket(
      engine,
      folder,
      (message) => publisher.update(symbol, membersOf<'update'>(message)),
      () => publisher.stop(),
    )
  }

  async stop(): Promise<void> {
    clearInterval(this.#stepping)
    await this.#end()
    this.#record.close()
  }

  /** Resolves when every verifier has had a digest for something published after this moment. */
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

  /** All differences between what the verifiers have seen and what was published, or the protocol's rules. */
  problems(verifiers: readonly ChainVerifier[]): readonly string[] {
    this.#record.follow()
    return verifiers.flatMap((verifier) => [
      ...verifier.problems.map((problem) => `${verifier.name}: ${problem}`),
      ...this.#record.compare(verifier, this.symbol).problems,
    ])
  }
}
