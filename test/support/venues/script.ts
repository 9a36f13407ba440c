/**
 * What a test venue plays for one symbol, and the words for it. A score keeps the venue's own truth: its book and all
 * its trades, also of what was lost on the way out. It uses no code of the connectors.
 */
import type { VenueClient } from './client.ts'
import type { PlainLevels } from './plain-book.ts'

/** One frame of a recording, and when, in milliseconds after its first. */
export interface ScriptFrame {
  readonly milliseconds: number
  readonly text: string
}

/** A frame on its way to everyone who is subscribed to this channel of the symbol. */
export interface Outgoing {
  readonly channel: string
  readonly text: string
  /** Whether a connector must notice when this frame is lost, or swapped with the next. */
  readonly isMissed: boolean
  /** It says nothing of the channel's matter, like a heartbeat: faults pass it by. */
  readonly isAside?: boolean
}

/** A frame with those it was sent to, and its number in the connection of each: on the wire, or lost, or late. */
export interface SentFrame extends Outgoing {
  readonly numbers: ReadonlyMap<VenueClient, number>
}

/** A trade that took place at the venue, whether anyone was told or not. */
export interface PlayedTrade {
  readonly id: number
  readonly price: string
  readonly amount: string
  readonly side: 'buy' | 'sell'
  readonly executedAtMilliseconds: number
}

export interface Script {
  readonly symbol: string
  readonly frames: readonly ScriptFrame[]
  /** Where later rounds begin: behind the frame that is the book's beginning, when there is one. */
  readonly repeatFrom: number
  /** The channel whose subscribers keep the recording going. */
  readonly bookChannel: string
  readonly trades: readonly PlayedTrade[]
  /** Takes a frame into the venue's own state; what goes out of it, with the numbers of this round (the first is 0). */
  play(frame: ScriptFrame, round: number): Outgoing | undefined
  /** The message that leads from the book at the end of the recording to the one that later rounds begin with. */
  rewind(round: number): Outgoing
  /** What a channel begins with for those who subscribe in the middle; nothing when it has no such beginning. */
  beginning(channel: string): string | undefined
  /** The book as it stands now, best level first. */
  levels(depth?: number): PlainLevels
  /** The frame, damaged so that a connector must notice. */
  corruptions(text: string): readonly string[]
}

/** The first half of a frame: what nobody can read. */
export function torn(text: string): string {
  return text.slice(0, text.length >> 1)
}
