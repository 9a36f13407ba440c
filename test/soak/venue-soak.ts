/**
 * All four venues at the speed of their recordings, repeated, with a fault at intervals. One client reads every book for
 * the whole time, another every execution. At intervals the venues pause: then every book must equal, level by level, that
 * of its venue, or the aggregate of its venues' books.
 */
import { readFileSync } from 'node:fs'
import { Random } from '../support/random.ts'
import { newToken } from '../support/running-service.ts'
import { permutations, plainAggregate } from '../support/venues/plain-aggregate.ts'
import type { VenueHistory } from '../support/venues/venue-history.ts'
import { SoakReader } from './soak-reader.ts'
import { doFault, type SoakFault } from './venue-faults.ts'
import { openStage, SOAK_DEPTH, type SoakStage } from './venue-stage.ts'

export interface SoakOptions {
  /** Data folder of the service. */
  readonly folder: string
  readonly seconds: number
  readonly secondsPerFault: number
  readonly secondsPerRest: number
  readonly seed: number
  /** Takes one event of the run. */
  readonly log: (event: Readonly<Record<string, unknown>>) => void
}

export interface SoakResult {
  readonly problems: readonly string[]
  readonly faults: number
  readonly rests: number
  /** Books that were compared with the history while the venues paused. */
  readonly booksCompared: number
  readonly exitCode: number | null
}

const SAMPLE_SECONDS = 10
/** A half-open connection shows after 30 s, a refused pair is tried again after 60, each with delays on top. */
const RECOVERY_MILLISECONDS = 150_000
/** Messages of a symbol after a fault by which the fault must have been detected. */
const MESSAGES_TO_NOTICE = 4
const POLL_MILLISECONDS = 100

export async function runVenueSoak(options: SoakOptions): Promise<SoakResult> {
  const stage = await openStage(options.folder, options.seed)
  const soak = new Soak(stage, options)
  let exitCode: number | null = null
  const result = await soak.run().finally(async () => {
    exitCode = await stage.close()
  })
  return { ...result, exitCode }
}

class Soak {
  readonly #stage: SoakStage
  readonly #options: SoakOptions
  readonly #random: Random
  readonly #problems: string[] = []
  readonly #kinds = new Map<string, number>()
  /** Sources that were refused, and are tried again after a minute: `venue symbol`. */
  readonly #refused = new Set<string>()
  #faults = 0
  #rests = 0
  #booksCompared = 0
  #readers: readonly SoakReader[] = []
  #begin = 0

  constructor(stage: SoakStage, options: SoakOptions) {
    this.#stage = stage
    this.#options = options
    this.#random = new Random(options.seed)
  }

  async run(): Promise<Omit<SoakResult, 'exitCode'>> {
    const { seconds, secondsPerRest, seed, log } = this.#options
    const books = new SoakReader(this.#stage, await newToken(this.#stage.service), [
      'market_data',
      'market_data.top_of_book',
    ])
    const executions = new SoakReader(this.#stage, await newToken(this.#stage.service), [
      'execution_data',
      'market_data',
    ])
    this.#readers = [books, executions]
    log({ event: 'start', seed, seconds, markets: this.#stage.markets.size, aggregates: this.#stage.aggregates.size })
    for (const reader of this.#readers) await reader.connect()
    this.#begin = performance.now()
    const sampling = setInterval(() => void this.#sample(), SAMPLE_SECONDS * 1000)
    try {
      await this.#rest()
      while (this.#elapsedSeconds < seconds && this.#problems.length === 0) {
        const restAt = this.#elapsedSeconds + secondsPerRest
        await this.#hurt(Math.min(restAt, seconds))
        await this.#rest()
      }
    } finally {
      clearInterval(sampling)
      await this.#sample()
    }
    for (const reader of this.#readers) await reader.close()
    this.#collect()
    log({ event: 'faults', kinds: Object.fromEntries([...this.#kinds].sort()) })
    const { length } = this.#problems
    log({
      event: 'end',
      faults: this.#faults,
      rests: this.#rests,
      booksCompared: this.#booksCompared,
      problems: length,
    })
    return { problems: this.#problems, faults: this.#faults, rests: this.#rests, booksCompared: this.#booksCompared }
  }

  get #elapsedSeconds(): number {
    return (performance.now() - this.#begin) / 1000
  }

  /** A fault, and another, until it is time to rest. */
  async #hurt(untilSeconds: number): Promise<void> {
    const { secondsPerFault } = this.#options
    while (this.#elapsedSeconds < untilSeconds && this.#problems.length === 0) {
      this.#note(doFault(this.#stage.venues, this.#random))
      await pause(secondsPerFault * 1000)
      this.#collect()
    }
  }

  #note(fault: SoakFault): void {
    this.#faults++
    if (fault.what === 'subscription refused') this.#refused.add(`${fault.venue} ${fault.symbol}`)
    const kind = `${fault.venue}: ${fault.what.replace(/[0-9]+ messages a symbol/, '…')}`
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1)
    this.#options.log({ event: 'fault', seconds: Math.round(this.#elapsedSeconds), ...fault })
  }

  /** Everything is healthy again, stands still, and is compared. */
  async #rest(): Promise<void> {
    const begin = performance.now()
    for (const { server } of this.#stage.venues) server.faults.disarm()
    await this.#untilNoticed()
    await this.#untilLive()
    for (const { server } of this.#stage.venues) server.pause()
    const wrong: string[] = []
    for (const reader of this.#readers) wrong.push(...(await this.#compare(reader)))
    // What was lost while it was looked at is waited for again, and counts only when it does not come.
    this.#problems.push(...wrong)
    for (const { server } of this.#stage.venues) server.resume()
    this.#rests++
    const seconds = Math.round(this.#elapsedSeconds)
    const waitedSeconds = Math.round((performance.now() - begin) / 1000)
    this.#options.log({ event: 'rest', seconds, waitedSeconds, wrong })
  }

  async #untilNoticed(): Promise<void> {
    const places = this.#stage.venues.flatMap(({ server, busySymbols }) =>
      busySymbols.map((symbol) => {
        const track = server.tracks.get(symbol)
        return { track, wanted: (track?.played ?? 0) + MESSAGES_TO_NOTICE }
      }),
    )
    await this.#poll('messages behind the faults', () =>
      places.every(({ track, wanted }) => track === undefined || track.played >= wanted),
    )
  }

  /** As an operator sees it: every source of every market is trusted. */
  async #untilLive(): Promise<void> {
    await this.#poll('every source live', async () => {
      const text = await this.#stage.service.operator.metricsText()
      const lines = text.split('\n').filter((line) => line.startsWith('tidegate_source_live{'))
      return lines.length > 0 && lines.every((line) => line.endsWith(' 1'))
    })
  }

  async #poll(what: string, isMet: () => boolean | Promise<boolean>): Promise<void> {
    const limit = performance.now() + RECOVERY_MILLISECONDS
    while (!(await isMet())) {
      if (performance.now() > limit) {
        this.#problems.push(`waited ${RECOVERY_MILLISECONDS / 1000} s in vain for: ${what}`)
        return
      }
      await pause(POLL_MILLISECONDS)
    }
  }

  /** What is not as the venues have it once all has arrived. */
  async #compare(reader: SoakReader): Promise<string[]> {
    const [stage, wrong] = [this.#stage, [] as string[]]
    const expect = async (market: string, isRight: () => boolean, describe: () => string) => {
      this.#booksCompared++
      try {
        await reader.until(market, isRight, RECOVERY_MILLISECONDS)
      } catch (error) {
        wrong.push(`${market}: ${describe()} (${(error as Error).message})`)
      }
    }
    for (const [market, [venue, symbol]] of stage.markets) {
      const history = stage.histories.get(venue) as VenueHistory
      const state = () => history.text(reader.book(market))
      await expect(
        market,
        () => state() === history.now(symbol),
        () => `is ${state()}, not ${history.now(symbol)}`,
      )
    }
    for (const [market, sources] of stage.aggregates) {
      const [[venue]] = sources as [readonly [string, string]]
      const history = stage.histories.get(venue) as VenueHistory
      const books = sources.map(([name, symbol]) => (stage.histories.get(name) as VenueHistory).script(symbol).levels())
      const allowed = new Set(permutations(books).map((order) => history.text(plainAggregate(order, SOAK_DEPTH))))
      const state = () => history.text(reader.book(market))
      await expect(
        market,
        () => allowed.has(state()),
        () => `is ${state()}, none of ${[...allowed].join(' or ')}`,
      )
    }
    return wrong
  }

  #collect(): void {
    for (const reader of this.#readers) {
      this.#problems.push(...reader.takeProblems())
      for (const market of reader.withdrawn) {
        const isRefused = this.#refused.has(this.#stage.markets.get(market)?.join(' ') ?? '')
        if (!isRefused) this.#problems.push(`${market}: the book was withdrawn, and its source was not away for long`)
      }
      reader.withdrawn.clear()
    }
    for (const problem of this.#problems.slice(0, 5)) this.#options.log({ event: 'problem', problem })
  }

  /** A sample that cannot be had says so in the log, and ends nothing. */
  async #sample(): Promise<void> {
    try {
      const { pid } = this.#stage.service
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      const text = await this.#stage.service.operator.metricsText()
      const metric = (name: string) => Number(new RegExp(`^${name} ([0-9.e+]+)$`, 'm').exec(text)?.[1])
      this.#options.log({
        event: 'sample',
        seconds: Math.round(this.#elapsedSeconds),
        residentMegabytes: Math.round(Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(status)?.[1]) / 1024),
        heapMegabytes: Math.round(metric('nodejs_heap_size_used_bytes') / 1_048_576),
        externalMegabytes: Math.round(metric('nodejs_external_memory_bytes') / 1_048_576),
        cpuSeconds: metric('process_cpu_seconds_total'),
        ownMegabytes: Math.round(process.memoryUsage().rss / 1_048_576),
        readers: this.#readers.map((reader) => ({ ...reader.counts })),
      })
    } catch (error) {
      this.#options.log({ event: 'no sample', reason: String(error) })
    }
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
