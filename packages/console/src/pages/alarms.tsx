/** What needs a person now: failed readiness checks, ledger differences, waiting work. */
import type { Query } from '../base/api.ts'
import { count, plural } from '../base/format.ts'
import type { ListPath, Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { Icon } from '../ui/icons.tsx'

interface Alarm {
  readonly tone: 'bad' | 'warn' | 'info'
  readonly text: string
  readonly detail: string
  readonly path?: string
}

const REFRESH_MILLISECONDS = 15_000
const WAITING_MAX = 100
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
  const stuck = useWaiting('/deliveries', { status: 'NEEDS_OPERATOR' })
  const accounts = useWaiting('/accounts', { summary_status: 'PENDING' })
  const rules = useWaiting('/rules', { status: 'PENDING' })
  const unattributed = useWaiting('/deposits', { unattributed: 'true', status: 'COMPLETED' })
  const guesses = useGet(can('GET /audit') ? '/audit' : undefined, GUESSES, REFRESH_MILLISECONDS)
  if (overview === undefined) return null
  const alarms: readonly (Alarm | undefined)[] = [
    ...checkAlarms(overview, markets),
    alarm(
      ledger.document?.differences.length ?? 0,
      'bad',
      'difference of the ledger',
      'balances do not equal their postings',
      '/doctor',
    ),
    alarm(
      stuck,
      'bad',
      'delivery',
      'the outcome of the payment is unknown',
      '/money/deliveries?status=NEEDS_OPERATOR',
      'deliveries',
    ),
    alarm(
      unattributed,
      'warn',
      'unattributed deposit',
      'assign it to a profile, or return it',
      '/money/deposits?unattributed=true',
    ),
    alarm(accounts, 'info', 'account', 'to review', '/review/accounts', 'accounts'),
    alarm(rules, 'info', 'rule', 'to approve', '/review/rules'),
    pausedAlarm(controls.document),
    ...guessAlarms(guesses.document?.items ?? []),
  ]
  const shown = alarms.filter((each) => each !== undefined)
  if (shown.length === 0) {
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

/** How many records wait, up to one page of the list. */
function useWaiting(path: ListPath, query: Query): number {
  const list = useGet(can(`GET ${path}`) ? path : undefined, { ...query, limit: WAITING_MAX }, REFRESH_MILLISECONDS)
  return list.document?.items.length ?? 0
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
