/**
 * One round of requests to an endpoint: what waits for it and is due, and a window of new events. It sends several
 * objects' events in parallel, and one object's strictly in order, one at a time. An object whose event fails keeps the
 * rest of its events for later rounds. It reads no clock and no store: the caller passes in both.
 */
import { type BackoffLimits, type Jitter, jitteredBackoff } from '../../platform/base/backoff.ts'
import { type Backlog, type Claim, FAILING_HOURS_MAX, FAILURES_MAX } from './claims.ts'

/** Requests to one endpoint at a time. */
export const PARALLEL_MAX = 8
/** Events in a round from backlogs, and as many new ones. */
const ROUND_EVENTS_MAX = 100
/** What may wait for one endpoint. Beyond it, its position in the new events stays. */
const BACKLOGS_MAX = 200
const BACKLOG_EVENTS_MAX = 2_000
/** A round begins no request after this time. The rest follows in the next one. */
const BEGIN_MILLISECONDS_MAX = 5_000
const REPEAT_SECONDS: BackoffLimits = { first: 5, longest: 900 }
const REPEAT_JITTER: Jitter = [0.5, 1.5]

/** An event as it is sent. */
export interface SentEvent {
  readonly sequence: number
  readonly id: string
  readonly objectType: string
  readonly objectId: string
  /** The request's body. */
  readonly text: string
}

/** A request as the endpoint's log shows it. */
export interface SentRequest {
  readonly event_id: string | null
  readonly sequence: number | null
  readonly attempt: number
  readonly status: number | null
  readonly error: string | null
  readonly milliseconds: number
  /** When it began, before the round is recorded. */
  readonly milliseconds_ago: number
}

/** Undefined: it was answered with 2xx. */
export type Failure = string | undefined

/** The next state of one object's backlog. */
export interface ChangedBacklog {
  readonly object_type: string
  readonly object_id: string
  /** Empty: nothing waits any more. */
  readonly sequences: readonly number[]
  readonly attempts: number
  /** Whether its first event failed for the first time. */
  readonly is_first_failure: boolean
  /** The delay before the next attempt. Null: as before. */
  readonly seconds: number | null
}

export interface RoundResult {
  readonly passedSequence: number
  readonly failures: number
  readonly backlogs: readonly ChangedBacklog[]
  /** Whether new events wait until the next attempt. */
  readonly waits: boolean
  /** Seconds until the next attempt. Absent: when the first backlog is due. */
  readonly seconds?: number
  /** Whether all backlogs are due now. */
  readonly isRecovered: boolean
  /** Why the endpoint must be disabled. */
  readonly overdue?: string
}

export interface NewEvents {
  readonly events: readonly SentEvent[]
  readonly passedSequence: number
  readonly isEnd: boolean
}

export interface RoundTools {
  readonly random: () => number
  /** Whether the sender stops. */
  readonly signal: AbortSignal
  /** Milliseconds since the round's begin. */
  elapsed(): number
  /** The events with these sequences that the endpoint still receives. */
  readAt(sequences: readonly number[]): Promise<readonly SentEvent[]>
  /** The next new events, and the last sequence that was examined. */
  readNew(limit: number): Promise<NewEvents>
  /** Sends one event. Never throws. */
  send(event: SentEvent, attempt: number): Promise<Failure>
}

/** One object's events in this round. */
interface Lane {
  readonly objectType: string
  readonly objectId: string
  readonly backlog?: Backlog
  /** Those that this round sends. */
  readonly events: SentEvent[]
  /** Those that follow in later rounds. */
  readonly later: number[]
  sent: number
  failure?: string
}

type Lanes = Map<string, Lane>

export async function runRound(claim: Claim, tools: RoundTools): Promise<RoundResult> {
  // What failed may no longer be for the endpoint, or no longer be kept.
  const before = claim.backlogs.length === 0 ? 0 : claim.failures
  const isProbe = before >= FAILURES_MAX
  const probe = isProbe ? probeOf(claim.backlogs) : undefined
  const lanes = await dueLanes(claim, probe, tools)
  let { passedSequence } = claim
  let hasMore = false
  if (hasSpace(claim.backlogs) && (probe === undefined || (probe.attempts > 0 && !probe.isOverdue))) {
    const read = await tools.readNew(ROUND_EVENTS_MAX)
    passedSequence = read.passedSequence
    hasMore = !read.isEnd
    addNew(lanes, claim.backlogs, read.events)
  }
  const all = [...lanes.values()]
  if (isProbe) all.sort((left, right) => attemptsOf(left) - attemptsOf(right))
  const failures = await sendAll(all, before, isProbe, tools)
  const isRecovered = isProbe && failures === 0
  const isLeft = all.some((lane) => lane.failure === undefined && isDue(lane) && restOf(lane).length > 0)
  const failed = all.find((lane) => lane.failure !== undefined && lane.sent === 0 && lane.backlog?.isOverdue)
  const result = {
    passedSequence,
    failures,
    backlogs: all.flatMap((lane) => changeOf(lane, tools.random)),
    isRecovered,
    ...(failed === undefined ? {} : { overdue: overdueReason(failed) }),
  }
  if (failures >= FAILURES_MAX) {
    const hasSent = all.some(({ sent, failure }) => sent > 0 || failure !== undefined)
    return { ...result, waits: true, seconds: hasSent ? delayAfter(failures - FAILURES_MAX + 1, tools.random) : 0 }
  }
  const waits = !hasSpace(claim.backlogs)
  return { ...result, waits, ...(hasMore || isLeft || isRecovered ? { seconds: 0 } : {}) }
}

function hasSpace(backlogs: readonly Backlog[]): boolean {
  const waiting = backlogs.reduce((sum, { sequences }) => sum + sequences.length, 0)
  return backlogs.length < BACKLOGS_MAX && waiting < BACKLOG_EVENTS_MAX
}

/**
 * A probe's backlog: one whose failure disables the endpoint, or else the oldest of those tried least. A receiver may
 * refuse one event for good, so the probes are not all about one. When every backlog was tried, a new event is first.
 */
function probeOf(backlogs: readonly Backlog[]): Backlog | undefined {
  const attempts = Math.min(...backlogs.map((backlog) => backlog.attempts))
  return backlogs.find((backlog) => backlog.isOverdue) ?? backlogs.find((backlog) => backlog.attempts === attempts)
}

function attemptsOf({ backlog }: Lane): number {
  return backlog?.attempts ?? 0
}

/** The backlogs that are due, as far as one round sends them: for a probe, one event alone. */
async function dueLanes({ backlogs }: Claim, probe: Backlog | undefined, { readAt }: RoundTools): Promise<Lanes> {
  const due = probe === undefined ? backlogs.filter((backlog) => backlog.isDue) : [probe]
  let free = probe === undefined ? ROUND_EVENTS_MAX : 1
  const chosen = due.flatMap((backlog) => {
    const now = backlog.sequences.slice(0, free)
    free -= now.length
    return now.length === 0 ? [] : [{ backlog, now }]
  })
  const wanted = chosen.flatMap(({ now }) => now)
  const events = wanted.length === 0 ? [] : await readAt(wanted)
  const found = new Map(events.map((event) => [event.sequence, event]))
  const lanes: Lanes = new Map()
  for (const { backlog, now } of chosen) {
    lanes.set(keyOf(backlog), {
      ...backlog,
      backlog,
      events: now.flatMap((sequence) => found.get(sequence) ?? []),
      later: backlog.sequences.slice(now.length),
      sent: 0,
    })
  }
  return lanes
}

/** Adds new events behind what waits for their objects. */
function addNew(lanes: Lanes, backlogs: readonly Backlog[], events: readonly SentEvent[]): void {
  const waiting = new Map(backlogs.map((backlog) => [keyOf(backlog), backlog]))
  for (const event of events) {
    const key = keyOf(event)
    const backlog = waiting.get(key)
    const lane = lanes.get(key) ?? emptyLane(event, backlog)
    lanes.set(key, lane)
    if (backlog === undefined) lane.events.push(event)
    else lane.later.push(event.sequence)
  }
}

function emptyLane({ objectType, objectId }: SentEvent, backlog: Backlog | undefined): Lane {
  const base = { objectType, objectId, events: [], sent: 0 }
  return backlog === undefined ? { ...base, later: [] } : { ...base, backlog, later: [...backlog.sequences] }
}

function keyOf({ objectType, objectId }: Pick<Lane, 'objectType' | 'objectId'>): string {
  return `${objectType}/${objectId}`
}

/**
 * Sends the lanes' events, and returns the failures since the last success: each object counts once, however often its
 * event was refused, because it may be the only one refused. Each probe counts.
 */
async function sendAll(lanes: readonly Lane[], before: number, isProbe: boolean, tools: RoundTools): Promise<number> {
  let counted = before
  /** Objects in a row in this round. */
  let failed = 0
  let begun = 0
  let next = 0
  const isOver = () =>
    tools.signal.aborted ||
    tools.elapsed() >= BEGIN_MILLISECONDS_MAX ||
    (isProbe ? begun > 0 : Math.max(counted, failed) >= FAILURES_MAX)
  const sendLane = async (lane: Lane): Promise<void> => {
    for (const event of lane.events) {
      if (isOver()) return
      const attempts = lane.sent === 0 ? attemptsOf(lane) : 0
      begun += 1
      const failure = await tools.send(event, attempts + 1)
      if (failure !== undefined) {
        lane.failure = failure
        failed += 1
        if (isProbe || attempts === 0) counted += 1
        return
      }
      counted = 0
      failed = 0
      lane.sent += 1
    }
  }
  const work = async (): Promise<void> => {
    for (let lane = lanes[next++]; lane !== undefined; lane = lanes[next++]) await sendLane(lane)
  }
  await Promise.all(Array.from({ length: PARALLEL_MAX }, work))
  return Math.max(counted, failed)
}

function restOf({ events, sent, later }: Lane): readonly number[] {
  return [...events.slice(sent).map(({ sequence }) => sequence), ...later]
}

/** Whether this round was to send the lane's events. */
function isDue({ backlog, events, sent }: Lane): boolean {
  return backlog === undefined || events.length > 0 || sent > 0
}

function changeOf(lane: Lane, random: () => number): readonly ChangedBacklog[] {
  const { objectType, objectId, backlog, sent, failure } = lane
  const sequences = restOf(lane)
  if (sequences.length === 0 && backlog === undefined) return []
  const change = { object_type: objectType, object_id: objectId, sequences }
  const before = sent === 0 ? attemptsOf(lane) : 0
  if (failure !== undefined) {
    const attempts = before + 1
    return [{ ...change, attempts, is_first_failure: before === 0, seconds: delayAfter(attempts, random) }]
  }
  return [{ ...change, attempts: before, is_first_failure: false, seconds: isDue(lane) ? 0 : null }]
}

/** Seconds, to the millisecond. */
function delayAfter(failures: number, random: () => number): number {
  return Math.round(jitteredBackoff(REPEAT_SECONDS, REPEAT_JITTER, failures, random) * 1000) / 1000
}

function overdueReason({ objectType, objectId, events, failure = '' }: Lane): string {
  const [event] = events
  return `event ${event?.sequence} about ${objectType} ${objectId} failed for ${FAILING_HOURS_MAX} hours, at last: ${failure}`
}
