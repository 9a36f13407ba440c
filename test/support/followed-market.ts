/** A market's publications by feeds, and the checks on a replica that follows it over a link with faults. */
import type { LevelChange } from '../../src/streaming/market/event.ts'
import type { MarketMessage } from '../../src/streaming/sequencing/bus.ts'
import type { Replica } from '../../src/streaming/sequencing/replica.ts'
import { expectEqual } from './expect-equal.ts'

function textOf(levels: readonly LevelChange[]): string {
  return levels.map(({ side, price, amount }) => `${side}:${price}=${amount}`).join()
}

/** Everything published by any feed, by epoch and version. */
export class Published {
  readonly books = new Map<string, string>()
  /** In order, by the identifier's part before a slash: an epoch, or a venue. Undefined = a miss. */
  readonly executions = new Map<string, (string | undefined)[]>()

  /** Notes the book that this replica's feed has published with a message. */
  noteBook(replica: Replica, message: MarketMessage): void {
    const state = replica.state('', 0)
    if (message.type === 'withdrawal' || message.epoch !== state?.epoch) return
    // An epoch's first book is known as such by the status after its commit.
    this.books.set(`${state.epoch}:${state.version}`, textOf(state.levels))
  }
}

/** Checks, at every commit of the following replica, what a subscriber would hold. */
export class FollowedMarket {
  readonly #replica: Replica
  readonly #published: Published
  #view = new Map<string, LevelChange>()
  #lastMilliseconds = 0
  #execution = 0
  /** The last execution read: its epoch and its place there. */
  #lastRead: { readonly epoch: string; readonly place: number } | undefined
  /** The feed's epoch in which the last execution was read. */
  #readEpoch: string | undefined
  startedOver = 0
  gaps = 0
  read = 0
  checked = 0
  /** Executions that followed an earlier epoch's without a gap. */
  continued = 0

  /** @param isWriter whether the replica's process is the feed now: its book is noted afterwards */
  constructor(replica: Replica, published: Published, isWriter: () => boolean = () => false) {
    this.#replica = replica
    this.#published = published
    replica.listen({
      onCommit: ({ changes, startsOver }) => {
        const { milliseconds } = replica.instant
        expectEqual(milliseconds > this.#lastMilliseconds, true, `${milliseconds} after ${this.#lastMilliseconds}`)
        this.#lastMilliseconds = milliseconds
        if (startsOver) {
          this.startedOver += 1
          this.#view = new Map(replica.view.levels().map((level) => [`${level.side}:${level.price}`, level]))
        }
        for (const level of changes) {
          if (level.amount === 0) expectEqual(this.#view.delete(`${level.side}:${level.price}`), true)
          else this.#view.set(`${level.side}:${level.price}`, level)
        }
        const held = replica.view.levels()
        const followed = held.map(({ side, price }) => this.#view.get(`${side}:${price}`) as LevelChange)
        expectEqual(textOf(followed), textOf(held))
        expectEqual(this.#view.size, held.length)
        if (replica.epoch.id.includes('withdrawn')) expectEqual(held, [])
        if (!isWriter()) this.#checkBook()
        this.#readExecutions()
      },
      onStatus: () => undefined,
    })
  }

  #checkBook(): void {
    const state = this.#replica.state('', 0)
    if (state === undefined || !state.hasBook || this.#replica.epoch.id !== state.epoch) return
    const published = this.#published.books.get(`${state.epoch}:${state.version}`)
    expectEqual(textOf(state.levels), published, `${state.epoch}:${state.version}`)
    this.checked += 1
  }

  #readExecutions(): void {
    const { executions } = this.#replica
    if (this.#execution + 1 < executions.firstNumber) {
      this.gaps += 1
      this.#execution = executions.firstNumber - 1
      this.#lastRead = undefined
    }
    while (this.#execution < executions.lastNumber) {
      this.#execution += 1
      const { id = '' } = executions.at(this.#execution).execution
      const epoch = id.split('/')[0] as string
      const place = (this.#published.executions.get(epoch) ?? []).indexOf(id)
      expectEqual(place >= 0, true, `${id} was published`)
      if (this.#lastRead !== undefined)
        expectEqual({ epoch, place }, { ...this.#lastRead, place: this.#lastRead.place + 1 })
      const followed = this.#replica.followed?.epoch
      if (this.#lastRead !== undefined && followed !== this.#readEpoch) this.continued += 1
      this.#readEpoch = followed
      this.#lastRead = { epoch, place }
      this.read += 1
    }
  }
}
