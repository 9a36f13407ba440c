/** The wrong reactions which `torture` reports, by name, with the violated rule. */
import { Failed } from '../../judge/harness.ts'

export const WRONG_REACTIONS = {
  'did-not-come-back': 'a client opens a new connection after everything but the stop codes',
  'came-back': 'a client that has to stop opens no connection and requests no token until a person restarts it',
  'reconnect-loop': 'a client waits before each attempt, longer while attempts fail, and at random',
  'retry-after-ignored': 'a client that can read Retry-After makes no attempt before it has passed',
  'old-token': 'a refused or revoked token is never used again: the next attempt has a new one',
  'subscriptions-missing': 'a new connection renews all subscriptions of the previous one',
  'closed-by-client': 'a client keeps a connection on which nothing is wrong',
  'subscribed-again': 'a client does not request again what is still subscribed',
  'not-subscribed-again': 'a client subscribes again what the service ended, on the same connection',
  'subscribed-in-a-loop': 'a client gives up a market after UNKNOWN_CHANNEL_PARAMS_CONFIGURATION',
  'silence-not-noticed': 'a client takes a connection without any message for lost, and opens another',
  'wrong-cursor': 'a client resumes from its last received cursor',
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
