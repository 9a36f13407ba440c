/** The results of the reader of a publication, and the texts of its reasons. Pure. */
import type { MarketEvent } from '../../market/event.ts'
import type { UpdateMessage } from './message.ts'

/** The last message of a publication that was applied. */
export interface PublicationPosition {
  readonly epoch: string
  readonly seq: number
}

/**
 * What became of one message.
 * - `applied`: it is the last message applied now.
 * - `repeated`: its `seq` was applied before; it is ignored.
 * - `waiting`: it was ignored because a SNAPSHOT is needed first.
 * - `refused`: it breaks a rule, or the market does not accept it; `problem` names the reason.
 */
export interface PublicationStep {
  readonly outcome: 'applied' | 'repeated' | 'waiting' | 'refused'
  /** For the listener of the market, in order. */
  readonly events: readonly MarketEvent[]
  /**
   * Why a SNAPSHOT has to be requested; absent when none is needed, or when it was requested by an earlier step and
   * has not arrived.
   */
  readonly request?: string
  /** Only with `refused`: member and rule, for the log. */
  readonly problem?: string
}

export function missingText(first: number, last: number, epoch: string): string {
  const messages = first === last ? `message ${first} is missing` : `the messages ${first} to ${last} are missing`
  return `${messages} in epoch ${epoch}`
}

export function gapText(bookSeq: number, { epoch, seq, prev }: Pick<UpdateMessage, 'epoch' | 'seq' | 'prev'>): string {
  return prev > bookSeq
    ? `the messages ${bookSeq + 1} to ${prev} of epoch ${epoch} are missing`
    : `message ${seq} of epoch ${epoch} covers messages of which some were applied`
}
