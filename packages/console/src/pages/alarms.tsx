/** What needs a person now: failed checks of readiness, differences of the ledger, work that waits. */
import { count, plural } from '../base/format.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { Icon } from '../ui/icons.tsx'
import type { MarketDocument, OverviewDocument } from './documents.ts'

interface Alarm {
  readonly tone: 'bad' | 'warn' | 'info'
  readonly text: string
  readonly detail: string
  readonly path?: string
}

interface LedgerState {
  readonly differences: readonly unknown[]
}

interface Controls {
  readonly paused: {
    readonly assets: readonly string[]
    readonly networks: readonly string[]
    readonly pairs: readonly string[]
    readonly deliveries: boolean
  }
}

const REFRESH_MILLISECONDS = 15_000
const WAITING_MAX = 100

export function Alarms({
  overview,
  markets = [],
}: {
  readonly overview: OverviewDocument | undefined
  readonly markets: readonly MarketDocument[] | undefined
}) {
  const ledger = useGet<LedgerState>(allowed('GET /ledger', '/ledger'), undefined, REFRESH_MILLISECONDS)
  const controls = useGet<Controls>(allowed('GET /controls', '/controls'), undefined, REFRESH_MILLISECONDS)
  const stuck = useWaiting('GET /deliveries', '/deliveries', { status: 'NEEDS_OPERATOR' })
  const accounts = useWaiting('GET /accounts', '/accounts', { summary_status: 'PENDING' })
  const rules = useWaiting('GET /rules', '/rules', { status: 'PENDING' })
  const unattributed = useWaiting('GET /deposits', '/deposits', { unattributed: 'true', status: 'COMPLETED' })
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
    alarm(accounts, 'info', 'account', 'to review', '/review', 'accounts'),
    alarm(rules, 'info', 'rule', 'to approve', '/review/rules'),
    pausedAlarm(controls.document),
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

function allowed(operation: string, path: string): string | undefined {
  return can(operation) ? path : undefined
}

/** How many records wait, up to one page of the list. */
function useWaiting(operation: string, path: string, query: Record<string, string>): number {
  const list = useGet<{ items: readonly unknown[] }>(
    allowed(operation, path),
    { ...query, limit: WAITING_MAX },
    REFRESH_MILLISECONDS,
  )
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

/** Markets with the same text share one alarm. */
function checkAlarms({ checks }: OverviewDocument, markets: readonly MarketDocument[]): readonly Alarm[] {
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

function pausedAlarm(controls: Controls | undefined): Alarm | undefined {
  if (controls === undefined) return undefined
  const { assets, networks, pairs, deliveries } = controls.paused
  const names = [...assets, ...networks, ...pairs, ...(deliveries ? ['all deliveries'] : [])]
  if (names.length === 0) return undefined
  return { tone: 'warn', text: 'Paused', detail: names.join(', '), path: '/money/controls' }
}
