/**
 * The cursors of the extended protocol: opaque tokens for a position in one channel of one market within one epoch. A
 * token is bound to market, channel, depth and epoch, so that a token of another one is never accepted. It has no
 * information about the client.
 */
import { createHash } from 'node:crypto'
import type { ChannelType } from '../contract/channels.ts'

/** Bytes of the digest that binds a token: two bindings have the same digest with a probability of 2^-48. */
const BINDING_BYTES = 6

export class Cursors {
  readonly #market: string
  readonly #channel: ChannelType
  readonly #depth: number
  #epoch: string | undefined
  #binding = ''

  /** `depth`: levels per side of the view, 0 = all; 0 for channels without depths. */
  constructor(market: string, channel: ChannelType, depth: number) {
    this.#market = market
    this.#channel = channel
    this.#depth = depth
  }

  /** The token of a position (0 or above) in the epoch. */
  token(epoch: string, position: number): string {
    return `${this.binding(epoch)}.${position}`
  }

  /** The position of a token; undefined when it is not a token of this channel and epoch. */
  position(epoch: string, token: string): number | undefined {
    const [binding, digits, ...rest] = token.split('.')
    if (binding !== this.binding(epoch) || rest.length > 0) return undefined
    return /^(0|[1-9][0-9]{0,14})$/.test(digits ?? '') ? Number(digits) : undefined
  }

  /** The first part of all tokens of an epoch. */
  binding(epoch: string): string {
    if (epoch !== this.#epoch) {
      const bound = JSON.stringify([this.#market, this.#channel, this.#depth, epoch])
      this.#binding = createHash('sha256').update(bound).digest().subarray(0, BINDING_BYTES).toString('base64url')
      this.#epoch = epoch
    }
    return this.#binding
  }
}
