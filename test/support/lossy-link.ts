/**
 * A link between two buses that loses, delays and repeats messages by a seed, on a virtual clock: the transports of
 * `bus-export` and `bus-import` for tests. Messages in one direction keep their order, as they do on a connection.
 */
import type { Clock } from '../../src/platform/base/clock.ts'
import type { BusExport } from '../../src/streaming/links/bus-export.ts'
import type { BusImport } from '../../src/streaming/links/bus-import.ts'
import type { CommitRequest, StateRequest } from '../../src/streaming/links/bus-requests.ts'

export interface LinkFaults {
  /** Probability that a message is lost; 1 = the link is cut. */
  loss: number
  /** Probability that a message is delivered twice. */
  repetition: number
  delayMillisecondsMax: number
}

export class LossyLink {
  readonly faults: LinkFaults = { loss: 0, repetition: 0, delayMillisecondsMax: 0 }
  readonly #clock: Clock
  readonly #random: () => number
  /** When each direction's last message arrives. */
  readonly #arrivals = { toFollower: 0, toFeed: 0 }
  lost = 0

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  /** The sending end's transport. Both ends are named later, because they need it. */
  exportTransport(importer: () => BusImport) {
    return {
      sendMessages: (_market: string, bytes: Buffer) => this.#send('toFollower', () => importer().onMessages(bytes)),
      sendHeartbeats: (bytes: Buffer) => this.#send('toFollower', () => importer().onHeartbeats(bytes)),
      sendDigest: (bytes: Buffer) => this.#send('toFollower', () => importer().onDigest(bytes)),
      sendProofs: (bytes: Buffer) => this.#send('toFollower', () => importer().onProofs(bytes)),
    }
  }

  /** The receiving end's transport. `feeds`: the feeds that hear it, each of which answers for itself. */
  importTransport(
    feeds: () => readonly BusExport[],
    importer: () => BusImport,
    onCommit: (request: CommitRequest) => void,
  ) {
    return {
      requestState: (request: StateRequest) =>
        this.#send('toFeed', () => {
          for (const feed of feeds()) {
            feed.onStateRequest(request, (states) => {
              for (const bytes of states) this.#send('toFollower', () => importer().onState(bytes))
            })
          }
        }),
      requestCommit: (request: CommitRequest) => this.#send('toFeed', () => onCommit(request)),
    }
  }

  #send(direction: 'toFollower' | 'toFeed', deliver: () => void): void {
    const { loss, repetition, delayMillisecondsMax } = this.faults
    if (this.#random() < loss) {
      this.lost += 1
      return
    }
    const now = this.#clock.monotonicMilliseconds()
    const arrival = Math.max(this.#arrivals[direction], now + this.#random() * delayMillisecondsMax)
    this.#arrivals[direction] = arrival
    this.#clock.schedule(arrival - now, deliver)
    if (this.#random() < repetition) this.#clock.schedule(arrival - now, deliver)
  }
}
