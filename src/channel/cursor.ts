/**
 * The cursors of the extended wire: opaque tokens for a position in what one view of one market told within one epoch
 * of its writer. A token is bound to market, channel, depth and epoch, so that one of anything else is never taken for
 * a position here; it tells nothing about who reads. Pure.
 */
import { createHash } from 'node:crypto'
import type { ChannelType } from '../contract/channels.ts'

/** Bytes of the digest that binds a token: two bindings share it once in 2^48. */
const BINDING_BYTES = 6

export class Cursors {
  readonly #market: string
  readonly #channel: ChannelType
  readonly #depth: number
  #epoch: string | undefined
  #binding = ''

  /** `depth`: levels a side of the view, 0 = all; 0 for channels that have none. */
  constructor(market: string, channel: ChannelType, depth: number) {
    this.#market = market
    this.#channel = channel
    this.#depth = depth
  }

  /** The token of a position (a whole number above -1) in the epoch. */
  token(epoch: string, position: number): string {
    return `${this.#bindingOf(epoch)}.${position}`
  }

  /** The position that a token names in the epoch; undefined when it is not one of these cursors. */
  position(epoch: string, token: string): number | undefined {
    const [binding, digits, ...rest] = token.split('.')
    if (binding !== this.#bindingOf(epoch) || rest.length > 0) return undefined
    return /^(0|[1-9][0-9]{0,14})$/.test(digits ?? '') ? Number(digits) : undefined
  }

  #bindingOf(epoch: string): string {
    if (epoch !== this.#epoch) {
      const bound = JSON.stringify([this.#market, this.#channel, this.#depth, epoch])
      this.#binding = createHash('sha256').update(bound).digest().subarray(0, BINDING_BYTES).toString('base64url')
      this.#epoch = epoch
    }
    return this.#binding
  }
}
