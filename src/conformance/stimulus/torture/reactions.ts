/** The wrong reactions which `torture` reports, by name, with the violated rule. */
import { Failed } from '../../judge/harness.ts'

export const WRONG_REACTIONS = {
  'did-not-come-back': 'a client opens a new connection after everything but the codes that say stop',
  'came-back': 'a client that has to stop opens no connection and requests no token until a person restarts it',
  'reconnect-loop': 'a client waits before each attempt, longer while attempts fail, and at random',
  'retry-after-ignored': 'a client that can read Retry-After makes no attempt before it has passed',
  'old-token': 'a token that was refused or revoked is never used again: the next attempt has a new one',
  'subscriptions-missing': 'a new connection subscribes everything that the one before it had',
  'closed-by-client': 'a client keeps a connection on which nothing is wrong',
  'subscribed-again': 'a client does not request again what is still subscribed',
  'not-subscribed-again': 'a client subscribes again what the service ended, on the same connection',
  'subscribed-in-a-loop': 'a client gives up a market that is UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
  'silence-not-noticed': 'a client takes a connection without any message for lost, and opens another',
  'wrong-cursor': 'a client resumes from the last cursor that it was sent',
  'program-ended': 'a client program ends only when the client has to stop',
} as const

export type WrongReactionName = keyof typeof WRONG_REACTIONS

/** Thrown by a scenario when the client reacted wrongly, or did not react. */
export class WrongReaction extends Failed {
  override name = 'WrongReaction'
  readonly reaction: WrongReactionName

  constructor(reaction: WrongReactionName, detail: string) {
    super(detail)
    this.reaction = reaction
  }
}

/** Thrown when no client connects, or the run was interrupted: the run ends. */
export class ClientMissing extends Error {
  override name = 'ClientMissing'
}
