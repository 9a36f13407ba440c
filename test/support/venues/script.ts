/**
 * A test venue's script for one symbol. It keeps the venue's own state: its book and all its trades, including those in
 * lost frames. It uses no code from the connectors.
 */
import type { VenueClient } from './client.ts'
import type { PlainLevels } from './plain-book.ts'

/** One recorded frame, with its time in milliseconds after the first. */
export interface ScriptFrame {
  readonly milliseconds: number
  readonly text: string
}

/** An outgoing frame for all subscribers to this symbol's channel. */
export interface Outgoing {
  readonly channel: string
  readonly text: string
  /** Whether a connector must detect when this frame is lost, or swapped with the next. */
  readonly isMissed: boolean
  /** A frame without data for the channel, like a heartbeat: faults skip it. */
  readonly isAside?: boolean
}

/** A frame with its recipients, and its number on each one's connection: sent, lost, or delayed. */
export interface SentFrame extends Outgoing {
  readonly numbers: ReadonlyMap<VenueClient, number>
}

/** A trade that took place at the venue, whether it was sent or not. */
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
  /** Where later rounds begin: after the book's snapshot, if there is one. */
  readonly repeatFrom: number
  /** The channel whose subscribers keep the playback running. */
  readonly bookChannel: string
  readonly trades: readonly PlayedTrade[]
  /**
   * Applies a frame to the venue's own state. Returns the frame to send, with this round's numbers (the first is 0).
   */
  play(frame: ScriptFrame, round: number): Outgoing | undefined
  /** The message that leads from the recording's final book to the one that later rounds begin with. */
  rewind(round: number): Outgoing
  /** A channel's first message for late subscribers. Undefined if it has none. */
  beginning(channel: string): string | undefined
  /** The current book, best level first. */
  levels(depth?: number): PlainLevels
  /** The frame, damaged so that a connector must detect it. */
  corruptions(text: string): readonly string[]
}

/** The first half of a frame, which cannot be parsed. */
export function torn(text: string): string {
  return text.slice(0, text.length >> 1)
}
