/** The results from a publication's reader, and the texts for its reasons. Pure. */
import type { MarketEvent } from '../../market/event.ts'
import type { UpdateMessage } from './message.ts'

/** The last applied message in a publication. */
export interface PublicationPosition {
  readonly epoch: string
  readonly seq: number
}

/**
 * The outcome for one message.
 * - `applied`: it is now the last applied message.
 * - `repeated`: its `seq` was applied before, so it is ignored.
 * - `waiting`: it was ignored because a SNAPSHOT is needed first.
 * - `refused`: it breaks a rule, or the market does not accept it; `problem` names the reason.
 */
export interface PublicationStep {
  readonly outcome: 'applied' | 'repeated' | 'waiting' | 'refused'
  /** For the market's listener, in order. */
  readonly events: readonly MarketEvent[]
  /**
   * Why a SNAPSHOT has to be requested; absent when none is needed, or when an earlier step's request is still
   * unanswered.
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
    ? `the messages ${bookSeq + 1} to ${prev} in epoch ${epoch} are missing`
    : `message ${seq} in epoch ${epoch} covers messages that were partly applied`
}
