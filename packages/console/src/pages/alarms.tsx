/**
 * What needs a person now: failed readiness checks, ledger faults, and what the review's queue lists. Nothing is said to
 * be well before everything was read.
 */
import type { Query } from '../base/api.ts'
import { count, plural } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { type Resource, useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { Icon } from '../ui/icons.tsx'
import { useSources, WAITING_MAX } from './review/queue.tsx'

interface Alarm {
  readonly tone: 'bad' | 'warn' | 'info'
  readonly text: string
  readonly detail: string
  readonly path?: string
}

const REFRESH_MILLISECONDS = 15_000
const STUCK: Query = { status: 'NEEDS_OPERATOR', limit: WAITING_MAX }
/** The kinds with an alarm of their own. */
const NAMED = ['Account', 'Rule', 'Unattributed deposit', 'Return']
const GUESSES: Query = { actor: 'unknown', limit: 200 }
const GUESSES_MILLISECONDS = 3_600_000
const GUESSES_USUAL = 10

export function Alarms({
  overview,
  markets = [],
}: {
  readonly overview: Schema<'Overview'> | undefined
  readonly markets: readonly Schema<'Market'>[] | undefined
}) {
  const ledger = useGet(can('GET /ledger') ? '/ledger' : undefined, undefined, REFRESH_MILLISECONDS)
  const controls = useGet(can('GET /controls') ? '/controls' : undefined, undefined, REFRESH_MILLISECONDS)
  const deliveries = useGet(can('GET /deliveries') ? '/deliveries' : undefined, STUCK, REFRESH_MILLISECONDS)
  const sources = useSources()
  const kinds = sources.flatMap(({ waiting }) => waiting.map(({ kind }) => kind))
  const waiting = (kind: string) => kinds.filter((each) => each === kind).length
  const guesses = useGet(can('GET /audit') ? '/audit' : undefined, GUESSES, REFRESH_MILLISECONDS)
  if (overview === undefined) return null
  const alarms: readonly (Alarm | undefined)[] = [
    ...checkAlarms(overview, markets),
    ...ledgerAlarms(ledger.document),
    alarm(
      deliveries.document?.items.length ?? 0,
      'bad',
      'delivery',
      'the outcome of the payment is unknown',
      '/money/deliveries?status=NEEDS_OPERATOR',
      'deliveries',
    ),
    alarm(
      waiting('Unattributed deposit'),
      'warn',
      'unattributed deposit',
      'assign it to a profile, or return it',
      '/money/deposits?unattributed=true',
    ),
    alarm(waiting('Account'), 'info', 'account', 'to review', '/review/accounts', 'accounts'),
    alarm(waiting('Rule'), 'info', 'rule', 'to approve', '/review/rules'),
    alarm(kinds.filter((kind) => !NAMED.includes(kind)).length, 'info', 'other record', 'in the queue', '/review'),
    pausedAlarm(controls.document),
    ...guessAlarms(guesses.document?.items ?? []),
  ]
  const resources = [ledger, controls, deliveries, guesses, ...sources.map(({ resource }) => resource)]
  const shown = [...alarms, unreadAlarm(resources)].filter((each) => each !== undefined)
  if (shown.length === 0) {
    const isUnread = resources.some(({ isLoading, document }) => isLoading && document === undefined)
    if (isUnread || sources.some(({ hasMore }) => hasMore)) return null
    return (
      <p class="all-well">
        <Icon name="check" /> Nothing needs attention: all checks pass, and nothing waits for a person.
      </p>
    )
  }
  return (
    <ul class="alarms">
      {shown.map(({ tone, text, detail, path }) => (
        <li key={text} class={tone}>
          <Icon name={tone === 'info' ? 'review' : 'warning'} />
          <span>
            {path === undefined ? <strong>{text}</strong> : <a href={href(path)}>{text}</a>} <span>{detail}</span>
          </span>
        </li>
      ))}
    </ul>
  )
}

/** What the ledger's metric and readiness report too. */
function ledgerAlarms(ledger: Schema<'Ledger'> | undefined): readonly (Alarm | undefined)[] {
  if (ledger === undefined) return []
  const { differences, changed_postings, overdue } = ledger
  const path = '/doctor'
  const late = { tone: 'bad', text: 'Ledger', detail: 'balances were not compared for an hour', path } as const
  return [
    alarm(differences.length, 'bad', 'difference of the ledger', 'balances or transfers are wrong', path),
    alarm(changed_postings.length, 'bad', 'changed range', 'of postings that had been read', path),
    overdue ? late : undefined,
  ]
}

function unreadAlarm(resources: readonly Resource<unknown>[]): Alarm | undefined {
  const problem = resources.find((resource) => resource.problem !== undefined)?.problem
  return problem && { tone: 'warn', text: 'Not everything could be read', detail: problem.message }
}

function alarm(
  amount: number,
  tone: Alarm['tone'],
  noun: string,
  detail: string,
  path: string,
  many?: string,
): Alarm | undefined {
  if (amount === 0) return undefined
  const text = amount >= WAITING_MAX ? `${count(amount)} or more ${many ?? `${noun}s`}` : plural(amount, noun, many)
  return { tone, text, detail, path }
}

/** One alarm per operator name with more failed logins in the last hour than a person's typing errors explain. */
function guessAlarms(rows: readonly Schema<'AuditEntry'>[]): readonly Alarm[] {
  const counts = new Map<string, number>()
  for (const { action, subject, created_at, detail } of rows) {
    if (action !== 'operator_login.reject' || Date.parse(created_at) < Date.now() - GUESSES_MILLISECONDS) continue
    counts.set(subject, (counts.get(subject) ?? 0) + Number(detail.count))
  }
  return [...counts]
    .filter(([, failed]) => failed > GUESSES_USUAL)
    .map(([subject, failed]) => ({
      tone: 'warn',
      text: `${plural(failed, 'failed login')} as ${subject}`,
      detail: 'in the last hour',
      path: `/audit?subject=${encodeURIComponent(subject)}`,
    }))
}

/** Markets with the same text share one alarm. */
function checkAlarms({ checks }: Schema<'Overview'>, markets: readonly Schema<'Market'>[]): readonly Alarm[] {
  const symbols = new Set(markets.map(({ symbol }) => symbol))
  const groups = new Map<string, Alarm & { readonly symbols: readonly string[] }>()
  for (const { name, ok, detail } of checks) {
    if (ok && (detail === 'ok' || !name.startsWith('market '))) continue
    const symbol = /^market (\S+)/.exec(name)?.[1] ?? ''
    const key = symbols.has(symbol) ? `${ok} ${detail}` : name
    const together = [...(groups.get(key)?.symbols ?? []), symbol]
    const isMarket = symbols.has(symbol)
    groups.set(key, {
      tone: ok ? 'info' : 'bad',
      text: isMarket ? together.join(', ') : name.charAt(0).toUpperCase() + name.slice(1),
      detail: isMarket && !name.endsWith(symbol) ? `${name.slice(symbol.length + 8)}: ${detail}` : detail,
      symbols: together,
      ...(isMarket ? { path: together.length === 1 ? `/markets/${symbol}` : '/markets' } : {}),
    })
  }
  return [...groups.values()]
}

function pausedAlarm(controls: Schema<'Controls'> | undefined): Alarm | undefined {
  if (controls === undefined) return undefined
  const { assets, networks, pairs, deliveries } = controls.paused
  const names = [...assets, ...networks, ...pairs, ...(deliveries ? ['all deliveries'] : [])]
  if (names.length === 0) return undefined
  return { tone: 'warn', text: 'Paused', detail: names.join(', '), path: '/money/controls' }
}
