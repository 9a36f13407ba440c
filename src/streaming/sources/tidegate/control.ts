/**
 * Requests to a publisher and its answers (docs/how-to/feeding-your-own-book.md, "Pull"): everything on the connection
 * besides a publication's messages. Pure.
 */
import { isObject, type JsonObject, membersOf } from '../../../platform/base/json-value.ts'
import type { PublicationPosition } from '../publication/publication-step.ts'

/** Entries in one request. They stay below 64 KiB, another Tidegate's limit. */
const ENTRIES_MAX = 100
/** Longest part from a publisher's message to show. */
const MESSAGE_CHARACTERS_MAX = 200

/** The outcome for one entry in a request. */
export interface Acknowledgement {
  readonly action: 'subscribe' | 'unsubscribe'
  readonly channel: string
  /** Empty for the heartbeat. */
  readonly market: string
  readonly isSuccess: boolean
  /** The messages after `resume` follow, instead of a SNAPSHOT. */
  readonly isResumed: boolean
  /** For people; empty when there is none. */
  readonly message: string
}

/** The publisher did not understand a request. */
export interface ControlProblem {
  readonly problem: string
}

/** One entry in a request. With a position, the publication continues after it. */
export function publicationEntry(market: string, resume?: PublicationPosition): object {
  const params = resume === undefined ? { market } : { market, resume: `${resume.epoch}.${resume.seq}` }
  return { type: 'publication', params }
}

export const HEARTBEAT_ENTRY: object = { type: 'heartbeat' }

/** The requests for these entries, each with a limited size. */
export function requests(action: 'subscribe' | 'unsubscribe', entries: readonly object[]): readonly object[] {
  const all: object[] = []
  for (let start = 0; start < entries.length; start += ENTRIES_MAX) {
    all.push({ type: action, channels: entries.slice(start, start + ENTRIES_MAX) })
  }
  return all
}

/** Whether a frame is an answer rather than a channel message. */
export function isControl(value: unknown): value is JsonObject {
  return isObject(value) && value.channel === undefined && typeof value.type === 'string'
}

/** An answer's acknowledgements; none for other answers. */
export function readControl(value: JsonObject): readonly Acknowledgement[] | ControlProblem {
  const { type: action, channels, message } = value
  if (action === 'error') return { problem: `the publisher rejects a request: ${shown(message)}` }
  if (action !== 'subscribe' && action !== 'unsubscribe') return []
  if (!Array.isArray(channels)) return { problem: 'the publisher’s acknowledgement has no channel list' }
  return channels.map((entry: unknown) => {
    const { type: channel, params, success, resumed, message: text } = membersOf(entry)
    const { market } = membersOf(params)
    return {
      action,
      channel: typeof channel === 'string' ? channel : '',
      market: typeof market === 'string' ? market : '',
      isSuccess: success === true,
      isResumed: resumed === true,
      message: shown(text),
    }
  })
}

function shown(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, MESSAGE_CHARACTERS_MAX) : ''
}
