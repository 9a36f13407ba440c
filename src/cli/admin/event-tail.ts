/** `tidegate admin event tail`: shows a customer's events as they happen, by polling their list until it is stopped. */
import { EVENT_TYPES } from '../../contract/event-types.ts'
import { pause } from '../../platform/base/time-limit.ts'
import { type CommandEnvironment, type Output, processEnvironment, stayAlive } from '../terminal/environment.ts'
import { printable, printableJson } from '../terminal/styled-line.ts'
import { callOperator, type OperatorApi } from './operator-client.ts'

const POLL_MILLISECONDS = 1_000
const PAGE_MAX = '1000'

interface TailedEvent {
  readonly sequence: number
  readonly type: string
  readonly time: string
  readonly subject: string
  readonly data: { readonly status?: string; readonly ref_id?: string }
}

interface EventPage {
  readonly items: readonly TailedEvent[]
  readonly next_page_cursor?: string
}

export interface EventTailOptions {
  readonly api: OperatorApi
  /** The list's path. */
  readonly path: string
  /** The sequence to begin after. Undefined: the customer's last one. */
  readonly after: string | undefined
  /** Separated by commas. Undefined: all. */
  readonly types: string | undefined
  /** A line of text per event, where it would be JSON otherwise. */
  readonly isForPeople: boolean
  readonly environment?: Pick<CommandEnvironment, 'stdout' | 'clock' | 'onStopSignal'>
}

/** Resolves when it is stopped. */
export async function tailEvents(options: EventTailOptions): Promise<void> {
  const { api, path, isForPeople, environment = processEnvironment() } = options
  const { stdout, clock } = environment
  const types = typesOf(options.types)
  const stopped = new AbortController()
  const stop = () => stopped.abort()
  const endSignals = environment.onStopSignal(stop)
  // A closed pipe, as with `head`.
  stdout.on('error', stop)
  const list = async (query: Readonly<Record<string, string | undefined>>): Promise<EventPage> =>
    (await callOperator(api, { method: 'GET', path, query }, stopped.signal)) as EventPage
  const last = async () => (await list({ order: 'DESC', limit: '1' })).items[0]?.sequence ?? 0
  const follow = async () => {
    let after = options.after ?? String(await last())
    while (!stopped.signal.aborted) {
      const { items, next_page_cursor } = await list({ after, limit: PAGE_MAX })
      let isFull = false
      for (const item of items) {
        if (types === undefined || types.has(item.type))
          isFull = !stdout.write(`${isForPeople ? lineOf(item) : printableJson(item)}\n`)
        after = String(item.sequence)
      }
      if (isFull) await drained(stdout, stopped.signal)
      if (next_page_cursor === undefined) await pause(clock, POLL_MILLISECONDS, stopped.signal)
    }
  }
  try {
    await stayAlive(follow())
  } catch (error) {
    // The stop ended a call.
    if (!stopped.signal.aborted) throw error
  } finally {
    endSignals()
    stdout.off('error', stop)
  }
}

/** Resolves when the output takes more, or the signal is aborted. */
function drained(output: Output, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      output.off('drain', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    output.on('drain', end)
    signal.addEventListener('abort', end)
  })
}

function typesOf(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined
  const types = text.split(',').filter((type) => type !== '')
  const unknown = types.find((type) => !Object.hasOwn(EVENT_TYPES, type))
  if (unknown !== undefined) throw new Error(`--types: '${unknown}' is not an event type`)
  return new Set(types)
}

function lineOf({ time, sequence, type, subject, data: { status, ref_id } }: TailedEvent): string {
  return [time, sequence, type, subject, status, ref_id]
    .flatMap((part) => (part === undefined ? [] : printable(String(part))))
    .join('  ')
}
