/** A deposit's history as sentences for support staff who know neither the tables nor the code. */

/** One event in the history. */
export interface TraceEntry {
  /** RFC 3339. */
  readonly at: string
  readonly kind: TraceKind
  readonly text: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** Event kinds, in the order for events in the same millisecond. */
export const TRACE_KINDS = [
  'sighting',
  'audit',
  'posting',
  'orchestration',
  'conversion',
  'delivery',
  'attempt',
] as const

export type TraceKind = (typeof TRACE_KINDS)[number]

export interface TracedSighting {
  readonly source: string
  readonly external_id: string
  readonly status: string
  readonly confirmations: number | null
  readonly reports: number
  readonly first_reported_at: string
  readonly last_reported_at: string
}

export interface TracedAudit {
  readonly created_at: string
  readonly actor: string
  readonly action: string
  readonly subject: string
  readonly detail: Readonly<Record<string, unknown>>
}

export interface TracedPosting {
  readonly created_at: string
  readonly group_id: string
  readonly asset: string
  /** Decimal text. */
  readonly amount: string
  readonly debit_bucket: string
  readonly debit_profile_id: string | null
  readonly credit_bucket: string
  readonly credit_profile_id: string | null
}

export interface TracedOrchestration {
  readonly id: string
  readonly status: string
  readonly step: string | null
  readonly source_asset: string
  readonly source_amount: string
  readonly destination_asset: string
  readonly destination_amount: string | null
  readonly waiting_for: string | null
  readonly waiting_detail: string | null
  readonly waiting_since: string | null
  readonly fail_code: string | null
  readonly fail_detail: string | null
  readonly retry_of: string | null
  readonly created_at: string
  readonly updated_at: string
}

export interface TracedConversion {
  readonly orchestration_id: string
  readonly kind: string
  readonly market: string | null
  readonly source_asset: string
  readonly source_amount: string
  readonly destination_asset: string
  readonly destination_amount: string
  readonly created_at: string
}

export interface TracedDelivery {
  readonly id: string
  readonly asset: string
  readonly amount: string
  readonly destination: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly status: string
  readonly reference: string | null
  readonly late: boolean
  readonly waiting_for: string | null
  readonly fail_code: string | null
  readonly fail_detail: string | null
  readonly created_at: string
  readonly updated_at: string
}

export interface TracedAttempt {
  readonly delivery_id: string
  readonly attempt: number
  readonly executor: string
  readonly started_at: string
  readonly ended_at: string | null
  readonly outcome: string
  readonly detail: string | null
}

/** Sorted by time, then by kind. */
export function inOrderOfTime(entries: readonly TraceEntry[]): readonly TraceEntry[] {
  const rank = ({ kind }: TraceEntry) => TRACE_KINDS.indexOf(kind)
  const byTime = (left: TraceEntry, right: TraceEntry) =>
    left.at < right.at ? -1 : left.at > right.at ? 1 : rank(left) - rank(right)
  return [...entries].sort(byTime)
}

export function sightingEntry(sighting: TracedSighting): TraceEntry {
  const { source, external_id, status, confirmations, reports, first_reported_at: at, last_reported_at } = sighting
  const depth =
    confirmations === null ? '' : `, ${confirmations} ${confirmations === 1 ? 'confirmation' : 'confirmations'}`
  const times = reports === 1 ? 'once' : `${reports} times, last at ${last_reported_at}`
  return {
    at,
    kind: 'sighting',
    text: `${source} reports the payment as ${external_id}: ${times}, now ${status}${depth}`,
    detail: { ...sighting },
  }
}

/** Sentences for audit actions. */
const ACTIONS: Readonly<Record<string, string>> = {
  'deposit.create': 'The deposit is recorded',
  'deposit.complete': 'The deposit is final and credited',
  'deposit.fail': 'The payment was dropped before it was final',
  'deposit.reopen': 'The dropped payment is seen again',
  'deposit.hold': 'The operator holds the deposit',
  'deposit.release': 'The operator releases the deposit',
  'deposit.reject': 'The operator rejects the deposit. Its money stays held',
  'deposit.reverse': 'The operator reverses the deposit',
  'deposit.return': 'The operator returns the deposit',
  'deposit.return_failed': 'The return failed. The deposit has its previous state again',
  'deposit.correct': 'The operator corrects the deposit',
  'deposit.assign': 'The operator assigns the deposit to a profile',
  'deposit.refuse_report': 'A report is refused',
}

export function auditEntry(audit: TracedAudit): TraceEntry {
  const { created_at: at, actor, action, subject, detail } = audit
  const person = /^operator:(.+)$/.exec(actor)?.[1]
  const sentence = ACTIONS[action] ?? `${actor}: ${action} of ${subject}`
  const text = person === undefined ? sentence : sentence.replace(/^The operator/, () => person)
  const details = Object.entries(detail).map(([name, value]) => `${name} ${wordOf(value)}`)
  return {
    at,
    kind: 'audit',
    text: details.length === 0 ? text : `${text} (${details.join(', ')})`,
    detail: { ...audit },
  }
}

export function postingEntry(posting: TracedPosting): TraceEntry {
  const { created_at: at, asset, amount, debit_bucket, debit_profile_id, credit_bucket, credit_profile_id } = posting
  const from = placeOf(debit_bucket, debit_profile_id)
  const to = placeOf(credit_bucket, credit_profile_id)
  return { at, kind: 'posting', text: `${amount} ${asset} move from ${from} to ${to}`, detail: { ...posting } }
}

export function orchestrationEntries(orchestration: TracedOrchestration): readonly TraceEntry[] {
  const { id, status, source_asset, source_amount, destination_asset, retry_of, created_at, updated_at } = orchestration
  const detail = { ...orchestration }
  const entry = (at: string, text: string): TraceEntry => ({ at, kind: 'orchestration', text, detail })
  const again = retry_of === null ? '' : `, which repeats ${retry_of}`
  const begun = entry(
    created_at,
    `Orchestration ${id} begins: ${source_amount} ${source_asset} into ${destination_asset}${again}`,
  )
  const { waiting_for, waiting_detail, waiting_since, fail_code, fail_detail, step } = orchestration
  if (status === 'FAILED') {
    return [begun, entry(updated_at, `Orchestration ${id} fails: ${fail_code} (${fail_detail ?? 'no detail'})`)]
  }
  if (status === 'COMPLETED') return [begun, entry(updated_at, `Orchestration ${id} is complete`)]
  if (waiting_for !== null && waiting_since !== null) {
    const why = waiting_detail === null ? '' : ` (${waiting_detail})`
    return [begun, entry(waiting_since, `Orchestration ${id} waits at step ${step} for ${waiting_for}${why}`)]
  }
  return [begun]
}

export function conversionEntry(conversion: TracedConversion): TraceEntry {
  const { kind, market, source_asset, source_amount, destination_asset, destination_amount, created_at } = conversion
  const how = kind === 'par' ? 'at par' : `by the book of ${market}`
  const text = `${source_amount} ${source_asset} become ${destination_amount} ${destination_asset}, ${how}`
  return { at: created_at, kind: 'conversion', text, detail: { ...conversion } }
}

export function deliveryEntries(delivery: TracedDelivery): readonly TraceEntry[] {
  const { id, asset, amount, destination, status, reference, late, waiting_for, created_at, updated_at } = delivery
  const detail = { ...delivery }
  const entry = (at: string, text: string): TraceEntry => ({ at, kind: 'delivery', text, detail })
  const begun = entry(created_at, `Delivery ${id} of ${amount} ${asset} is due, to ${destinationOf(destination)}`)
  const { fail_code, fail_detail } = delivery
  if (status === 'SETTLED') {
    const words = late ? `had failed with ${fail_code} (${fail_detail}) and was paid after all` : 'is paid'
    return [begun, entry(updated_at, `Delivery ${id} ${words}: ${reference}`)]
  }
  if (status === 'FAILED') return [begun, entry(updated_at, `Delivery ${id} fails: ${fail_code} (${fail_detail})`)]
  if (status === 'NEEDS_OPERATOR') {
    return [begun, entry(updated_at, `Delivery ${id} has an unknown outcome and waits for the operator`)]
  }
  return waiting_for === null ? [begun] : [begun, entry(updated_at, `Delivery ${id} waits for ${waiting_for}`)]
}

export function attemptEntry(attempt: TracedAttempt): TraceEntry {
  const { delivery_id, attempt: number, executor, started_at, ended_at, outcome, detail } = attempt
  const end = ended_at === null ? '' : ` at ${ended_at}`
  const why = detail === null ? '' : ` (${detail})`
  const text = `Attempt ${number} of delivery ${delivery_id} by ${executor}: ${outcome}${end}${why}`
  return { at: started_at, kind: 'attempt', text, detail: { ...attempt } }
}

/** The entry with names in place of ids, in quotes because customers choose some names. The detail keeps the ids. */
export function withNames(entry: TraceEntry, names: ReadonlyMap<string, string>): TraceEntry {
  const text = entry.text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    const name = names.get(id)
    return name === undefined ? id : JSON.stringify(name)
  })
  return { ...entry, text }
}

function placeOf(bucket: string, profileId: string | null): string {
  return profileId === null ? bucket : `${bucket} of profile ${profileId}`
}

function destinationOf(destination: TracedDelivery['destination']): string {
  const [members = {}] = Object.values(destination)
  return Object.values(members).map(wordOf).join(' ')
}

function wordOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
