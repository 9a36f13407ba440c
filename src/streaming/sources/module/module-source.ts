/**
 * Sources that run in this process: the operator's ES modules (docs/how-to/feeding-your-own-book.md, "In process"),
 * named `module:FILE:SYMBOL`. Each file is loaded once for all its markets, and stopped with the last one. Any error
 * from a module, thrown in a call or rejected in a returned promise, is logged, and its markets are lost until their
 * next SNAPSHOT. An error thrown in the module's own callback (a timer, a socket) cannot be caught here: it ends the
 * process.
 */
import type { Clock, Timer } from '../../../platform/base/clock.ts'
import type { Log } from '../../../platform/base/log.ts'
import { withTimeLimit } from '../../../platform/base/time-limit.ts'
import { FedPublication } from '../publication/fed-publication.ts'
import { problemText, readPublication } from '../publication/message.ts'
import type { Source, SourceMarket } from '../source.ts'
import { retryMilliseconds } from '../venues/venue-connection.ts'
import { engineOf, errorText, loadModule, type ModuleEngine } from './module-loader.ts'

interface ModuleSourceOptions {
  readonly markets: readonly SourceMarket[]
  readonly clock: Clock
  /** A number in [0, 1), for jitter. */
  readonly random: () => number
  readonly log: Log
}

/** The file and the symbol in `FILE:SYMBOL`. */
export function moduleSymbol(venueSymbol: string): { readonly path: string; readonly symbol: string } {
  const colon = venueSymbol.lastIndexOf(':')
  return { path: venueSymbol.slice(0, colon), symbol: venueSymbol.slice(colon + 1) }
}

/** One source for all modules named by markets. */
export function createModuleSource({ markets, ...parts }: ModuleSourceOptions): Source {
  const hosts = new Map<string, ModuleHost>()
  const stopping = new Set<Promise<void>>()
  const hostOf = (market: SourceMarket): ModuleHost | undefined => hosts.get(moduleSymbol(market.venueSymbol).path)
  const add = (market: SourceMarket): ModuleHost => {
    const { path } = moduleSymbol(market.venueSymbol)
    const host = hosts.get(path) ?? new ModuleHost({ ...parts, path })
    hosts.set(path, host)
    host.add(market)
    return host
  }
  return {
    start() {
      for (const market of markets) add(market)
      for (const host of hosts.values()) host.start()
    },
    add(market) {
      const isNew = hostOf(market) === undefined
      const host = add(market)
      if (isNew) host.start()
    },
    remove(market) {
      const host = hostOf(market)
      host?.remove(market)
      if (host === undefined || host.isUsed) return
      hosts.delete(moduleSymbol(market.venueSymbol).path)
      const stopped = host.stop().finally(() => stopping.delete(stopped))
      stopping.add(stopped)
    },
    async stop() {
      await Promise.all([...stopping, ...[...hosts.values()].map((host) => host.stop())])
    },
    rebuild(market, reason) {
      hostOf(market)?.fedBy(market)?.rebuild(reason)
    },
    instrument(market) {
      return hostOf(market)?.fedBy(market)?.instrument
    },
    followed(market) {
      return hostOf(market)?.fedBy(market)?.followed
    },
    resume(market, _executed, followed) {
      return hostOf(market)?.fedBy(market)?.takeOver(followed) ?? false
    },
    proof(market) {
      return hostOf(market)?.fedBy(market)?.reader.proof ?? 'NONE'
    },
    notices(market) {
      const instrument = hostOf(market)?.fedBy(market)?.instrument
      if (instrument === undefined || instrument.state === 'OPEN') return []
      const { state, reason } = instrument
      return [`the module reports ${moduleSymbol(market.venueSymbol).symbol} as ${state}${reason && `: ${reason}`}`]
    },
  }
}

const STOP_MILLISECONDS_MAX = 5_000
/** A SNAPSHOT was good if no new one was needed for this long. */
const GOOD_MILLISECONDS = 60_000

interface Member {
  readonly symbol: string
  readonly fed: FedPublication
  /** The next request for a SNAPSHOT. */
  timer: Timer | undefined
  /** Consecutive requests, and the last one's time. */
  requests: number
  requestMilliseconds: number
}

class ModuleHost {
  readonly #options: Omit<ModuleSourceOptions, 'markets'> & { readonly path: string }
  readonly #log: Log
  readonly #members = new Map<SourceMarket, Member>()
  /** Undefined until the module was loaded and started, and where it could not. */
  #engine: ModuleEngine | undefined
  #isStarted = false
  /** Why the module cannot be used. */
  #failure: string | undefined
  #isStopped = false
  #started: Promise<void> = Promise.resolve()

  constructor(options: Omit<ModuleSourceOptions, 'markets'> & { readonly path: string }) {
    this.#options = options
    this.#log = options.log.child({ module: options.path })
  }

  get isUsed(): boolean {
    return this.#members.size > 0
  }

  fedBy(market: SourceMarket): FedPublication | undefined {
    return this.#members.get(market)?.fed
  }

  add(source: SourceMarket): void {
    const { symbol } = moduleSymbol(source.venueSymbol)
    const fed = new FedPublication({
      source,
      onRequest: (reason) => this.#request(member, reason),
      onProblem: (problem) => this.#log.warn({ symbol, problem }, 'publication refused'),
    })
    const member: Member = { symbol, fed, timer: undefined, requests: 0, requestMilliseconds: Number.NEGATIVE_INFINITY }
    this.#members.set(source, member)
    if (this.#failure !== undefined) fed.disconnect(this.#failure)
    else if (this.#isStarted) this.#request(member, `the market ${source.market.symbol} was added`)
  }

  remove(source: SourceMarket): void {
    const member = this.#members.get(source)
    member?.timer?.cancel()
    member?.fed.end()
    this.#members.delete(source)
  }

  start(): void {
    this.#started = this.#start()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const source of [...this.#members.keys()]) this.remove(source)
    const { clock } = this.#options
    const stopped = this.#started.then(() => this.#engine?.stop())
    try {
      await withTimeLimit(clock, STOP_MILLISECONDS_MAX, Promise.resolve(stopped), () => {
        this.#log.warn({ seconds: STOP_MILLISECONDS_MAX / 1000 }, 'module did not stop in time')
      })
    } catch (error) {
      this.#log.error({ reason: errorText(error) }, 'module failed to stop')
    }
  }

  async #start(): Promise<void> {
    const { path, clock } = this.#options
    const createSource = await loadModule(path, clock)
    if (this.#isStopped) return
    if (typeof createSource === 'string') return this.#giveUp(createSource)
    const symbols = [...new Set([...this.#members.values()].map(({ symbol }) => symbol))]
    try {
      const engine = engineOf(await createSource({ symbols, log: this.#log }))
      if (engine === undefined) {
        return this.#giveUp(`createSource of ${path} returns no object with start, requestSnapshot and stop`)
      }
      if (this.#isStopped) return
      this.#engine = engine
      await engine.start((message) => this.#take(message))
      this.#isStarted = true
      // A market may have been added meanwhile, which the module does not know.
      for (const member of this.#members.values()) {
        if (!symbols.includes(member.symbol)) this.#request(member, 'the market was added')
      }
    } catch (error) {
      this.#giveUp(`the module ${path} failed to start: ${errorText(error)}`)
    }
  }

  /** The module sends nothing from now on, or what it sends begins with a SNAPSHOT. */
  #giveUp(reason: string): void {
    this.#failure = reason
    this.#log.error({ reason }, 'module failed')
    for (const { fed } of [...this.#members.values()]) fed.lose(reason)
  }

  #take(value: unknown): void {
    if (this.#isStopped) return
    const message = readPublication(value)
    const members = [...this.#members.values()]
    if (message.type === 'heartbeat') {
      for (const book of message.books) {
        for (const { symbol, fed } of members) if (symbol === book.market) fed.compare(book)
      }
      return
    }
    if (message.type === 'problem' && message.market === undefined) {
      this.#log.warn({ problem: problemText(message) }, 'a message for an unknown market breaks a rule')
      for (const { fed } of members) fed.refuse(message)
      return
    }
    for (const { symbol, fed } of members) {
      if (symbol !== message.market) continue
      if (message.type === 'problem') fed.refuse(message)
      else fed.take(message)
    }
  }

  /** In a later tick, because a module may send the SNAPSHOT at once. Repeated requests wait longer and longer. */
  #request(member: Member, reason: string): void {
    const { clock, random } = this.#options
    const now = clock.monotonicMilliseconds()
    if (now - member.requestMilliseconds > GOOD_MILLISECONDS) member.requests = 0
    member.requestMilliseconds = now
    member.requests++
    const delay = member.requests === 1 ? 0 : retryMilliseconds(member.requests - 1, random)
    this.#log.warn({ symbol: member.symbol, reason }, 'publication needs a snapshot')
    member.timer?.cancel()
    member.timer = clock.schedule(delay, () => {
      member.timer = undefined
      void this.#requestNow(member.symbol, reason)
    })
  }

  async #requestNow(symbol: string, reason: string): Promise<void> {
    try {
      await this.#engine?.requestSnapshot(symbol, reason)
    } catch (error) {
      const failure = `the module failed in requestSnapshot: ${errorText(error)}`
      this.#log.error({ symbol, reason: failure }, 'module failed')
      for (const { fed } of [...this.#members.values()]) fed.lose(failure)
    }
  }
}
