/**
 * A killed engine's publications: a file to which its process writes each message, as far as readers of the book need
 * it, before it sends the message. So the file has everything that can have arrived anywhere, and whatever was lost
 * with the process too. `PublishedRecord` follows the file and compares it with a service client's observations.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import type { ChainVerifier } from './chain-verifier.ts'
import { digestOf } from './extended-verifier.ts'
import type { PublishingEngine, WireMessage } from './publishing-engine.ts'

/** The start options for the engine's process, `test/adapters/killed-publisher.ts`. */
export interface KilledPublisherOptions {
  /** Counts the processes. */
  readonly run: number
  readonly seed: number
  readonly recordPath: string
  readonly pushed: string
  readonly pulled: string
  /** The listener's port for pulls. */
  readonly port: number
  /** The token for pulling clients. */
  readonly token: string
  readonly ingest: {
    readonly url: string
    readonly authUrl: string
    readonly clientId: string
    readonly clientSecret: string
  }
}

interface Published {
  readonly market: string
  /** `EPOCH.SEQ` */
  readonly position: string
  /** The digest over the levels after the message. */
  readonly digest: string
  /** Identifiers. */
  readonly executions: readonly string[]
}

/** Appends to the file, from the engine's process. */
export class PublishedRecorder {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** @param message absent: the state before the first message of the epoch */
  add(engine: PublishingEngine, message?: WireMessage): void {
    const book = { bids: new Map<string, string>(), asks: new Map<string, string>() }
    for (const [key, amount] of engine.levels()) {
      const [side, price] = key.split(' ') as ['bids' | 'asks', string]
      book[side].set(price, amount)
    }
    const { executions = [], orders = [] } = (message?.payload ?? {}) as Record<string, { id: string; type?: string }[]>
    const line: Published = {
      market: engine.symbol,
      position: `${engine.epoch}.${engine.seq}`,
      digest: digestOf(book),
      executions: [...executions, ...orders.filter(({ type }) => type === 'trade')].map(({ id }) => id),
    }
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

interface MarketRecord {
  /** By `EPOCH.SEQ`: the digest, and the message's number among all the market's messages. */
  readonly positions: Map<string, { readonly digest: string; readonly place: number }>
  /** By identifier: the place among all executions. */
  readonly executions: Map<string, number>
}

/** The comparison of one market with the record. */
export interface Comparison {
  readonly problems: readonly string[]
  /** How many digests were equal. */
  readonly origins: number
  readonly executions: number
  /** Executions not seen, each between two others with a notice in between, or before the first one. */
  readonly missing: number
  /** Notices about missing executions. */
  readonly gaps: number
}

export class PublishedRecord {
  readonly #file: number
  readonly #markets = new Map<string, MarketRecord>()
  #rest = ''

  constructor(path: string) {
    this.#file = openSync(path, 'a+')
  }

  /** Reads the additions to the file. */
  follow(): void {
    const buffer = Buffer.allocUnsafe(1_048_576)
    for (let bytes = readSync(this.#file, buffer); bytes > 0; bytes = readSync(this.#file, buffer)) {
      // The last line may be written at this moment.
      const lines = (this.#rest + buffer.toString('latin1', 0, bytes)).split('\n')
      this.#rest = lines.pop() as string
      for (const line of lines) this.#add(JSON.parse(line) as Published)
    }
  }

  /** The market's messages so far. */
  length(market: string): number {
    return this.#markets.get(market)?.positions.size ?? 0
  }

  /** The place of the message that an origin names, or -1 for one that was never published. */
  placeOf(market: string, origin: string): number {
    return this.#markets.get(market)?.positions.get(origin)?.place ?? -1
  }

  /** Compares everything a client has seen from a market. */
  compare(verifier: ChainVerifier, market: string): Comparison {
    const { positions, executions } = this.#markets.get(market) as MarketRecord
    const problems: string[] = []
    let origins = 0
    for (const [key, digest] of verifier.origins) {
      const [symbol, origin] = key.split(' ') as [string, string]
      if (symbol !== market) continue
      const published = positions.get(origin)
      if (published?.digest === digest) origins++
      else problems.push(`${verifier.name}: ${key} has the digest ${digest}, published was ${published?.digest}`)
    }
    let [seen, missing, gaps, next] = [0, 0, 0, 0]
    let isNotified = true
    for (const id of verifier.executionsOf(market)) {
      if (id === null) {
        gaps++
        isNotified = true
        continue
      }
      seen++
      const place = executions.get(id)
      if (place === undefined) problems.push(`${verifier.name}: the execution ${id} of ${market} was never published`)
      else if (place < next) problems.push(`${verifier.name}: the execution ${id} of ${market} came again, or too late`)
      else if (place > next && !isNotified) {
        problems.push(`${verifier.name}: ${place - next} executions of ${market} are missing before ${id}`)
      }
      missing += Math.max(0, (place ?? next) - next)
      next = Math.max(next, (place ?? 0) + 1)
      isNotified = false
    }
    return { problems, origins, executions: seen, missing, gaps }
  }

  close(): void {
    closeSync(this.#file)
  }

  #add({ market, position, digest, executions }: Published): void {
    let record = this.#markets.get(market)
    if (record === undefined) {
      record = { positions: new Map(), executions: new Map() }
      this.#markets.set(market, record)
    }
    record.positions.set(position, { digest, place: record.positions.size })
    for (const id of executions) record.executions.set(id, record.executions.size)
  }
}
