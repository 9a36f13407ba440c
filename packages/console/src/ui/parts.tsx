/** The pages' small parts. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Problem } from '../base/api.ts'
import { agoText, grouped, jsonText, shortId, shown, timeText, words } from '../base/format.ts'
import { href } from '../base/router.ts'
import { Icon, type IconName } from './icons.tsx'
import { report } from './toast.tsx'

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'quiet'

interface WithChildren {
  readonly children?: ComponentChildren
}

export function PageHead({
  title,
  lead,
  back,
  children,
}: WithChildren & {
  readonly title: ComponentChildren
  readonly lead?: ComponentChildren
  readonly back?: { readonly path: string; readonly label: string }
}) {
  return (
    <header class="page-head">
      <div>
        {back !== undefined && (
          <a class="back" href={href(back.path)}>
            <Icon name="back" size={13} /> {back.label}
          </a>
        )}
        <h1 tabIndex={-1}>{shown(title)}</h1>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

export function Card({
  title,
  note,
  actions,
  flush = false,
  className = '',
  children,
}: WithChildren & {
  readonly title?: ComponentChildren
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Without padding around the content, for tables. */
  readonly flush?: boolean
  readonly className?: string
}) {
  return (
    <section class={`card ${flush ? 'flush' : ''} ${className}`}>
      {(title !== undefined || actions !== undefined) && (
        <header>
          <h2>{title}</h2>
          {note !== undefined && <span class="note">{note}</span>}
          {actions !== undefined && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  )
}

export function Badge({ tone = 'quiet', children }: WithChildren & { readonly tone?: Tone }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** The tones for all statuses in the API. */
const TONES: Readonly<Record<string, Tone>> = {
  ACTIVE: 'good',
  APPROVED: 'good',
  COMPLETED: 'good',
  SETTLED: 'good',
  CONFIRMED: 'good',
  ok: 'good',
  live: 'good',
  PENDING: 'warn',
  WAITING: 'info',
  CLAIMED: 'info',
  SENT: 'info',
  PROCESSING: 'info',
  HELD: 'warn',
  NEEDS_OPERATOR: 'bad',
  ERROR: 'bad',
  FAILED: 'bad',
  DENIED: 'bad',
  REJECTED: 'bad',
  REVERSED: 'bad',
  RETURNED: 'warn',
  DECLINED: 'quiet',
  EXPIRED: 'quiet',
  DELETED: 'quiet',
  DISABLED: 'quiet',
  starting: 'info',
  lost: 'bad',
  warn: 'warn',
  bad: 'bad',
}

/** @param text absent = the status in words */
export function Status({ of, text }: { readonly of: string; readonly text?: string }) {
  return <Badge tone={TONES[of] ?? 'quiet'}>{text ?? words(of)}</Badge>
}

/** A time, exact in its title. A relative time updates itself. */
export function Time({ at, exact = false }: { readonly at: string | undefined; readonly exact?: boolean }) {
  const now = useNow(exact || at === undefined ? undefined : 10_000)
  if (at === undefined) return null
  return (
    <time class="num" dateTime={at} title={`${timeText(at)} UTC`}>
      {exact ? timeText(at) : agoText(at, now)}
    </time>
  )
}

/** The current time, updated after each interval. */
export function useNow(everyMilliseconds: number | undefined): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (everyMilliseconds === undefined) return
    const timer = setInterval(() => setNow(Date.now()), everyMilliseconds)
    return () => clearInterval(timer)
  }, [everyMilliseconds])
  return now
}

export function Amount({ of, asset }: { readonly of: string | undefined; readonly asset?: string | undefined }) {
  if (of === undefined) return null
  return (
    <span class="num amount">
      {grouped(of)}
      {asset !== undefined && <span class="unit"> {asset}</span>}
    </span>
  )
}

/** An id: short, in full in its title, and copied with its button. */
export function Id({ of, to }: { readonly of: string | undefined; readonly to?: string | undefined }) {
  if (of === undefined) return null
  return (
    <span class="id" title={of}>
      {to === undefined ? (
        <span class="mono">{shortId(of)}</span>
      ) : (
        <a class="mono" href={href(to)}>
          {shortId(of)}
        </a>
      )}
      <CopyButton of={of} />
    </span>
  )
}

export function CopyButton({ of }: { readonly of: string }) {
  const copy = () => {
    navigator.clipboard.writeText(of).then(
      () => report('Copied'),
      () => report('The browser does not allow this page to copy', 'bad'),
    )
  }
  return (
    <button type="button" class="bare copy" aria-label={`Copy ${of}`} onClick={copy}>
      <Icon name="copy" size={12} />
    </button>
  )
}

/** For facts: the id as a link to its record's page, if there is one. */
export function idFact(id: string | undefined, folder: string): ComponentChildren {
  return id === undefined ? undefined : <Id of={id} to={`${folder}/${id}`} />
}

/** For facts: the exact time, if there is one. */
export function timeFact(time: string | undefined): ComponentChildren {
  return time === undefined ? undefined : <Time at={time} exact />
}

/** For facts: why something failed. */
export function failureFact(
  reason: { readonly code: string; readonly detail?: string } | undefined,
): string | undefined {
  if (reason === undefined) return undefined
  return reason.detail === undefined ? words(reason.code) : `${words(reason.code)}: ${reason.detail}`
}

export function Empty({
  icon = 'audit',
  title,
  children,
}: WithChildren & { readonly icon?: IconName; readonly title: string }) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <p class="empty-title">{title}</p>
      {children !== undefined && <p>{children}</p>}
    </div>
  )
}

/** A refused or failed call's text, with the details for a support request. */
export function ProblemNote({ problem, retry }: { readonly problem: Problem; readonly retry?: () => void }) {
  const needed = problem.meta.needed
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p>{problem.message}</p>
        {Array.isArray(needed) && <p class="quiet">Allowed for: {needed.join(', ')}.</p>}
        {problem.faults.length > 0 && (
          <ul>
            {problem.faults.map(({ pointer, parameter, detail }) => (
              <li key={`${pointer}${parameter}${detail}`}>
                <code>{pointer ?? parameter}</code> {detail}
              </li>
            ))}
          </ul>
        )}
        <p class="quiet">
          <code>{problem.code}</code>
          {problem.requestId !== undefined && <> · request {problem.requestId}</>}
        </p>
      </div>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading</span>
      <span />
      <span />
      <span />
    </div>
  )
}

/** Stands in for a record's page while the document is loading, or when it cannot be loaded, then with the way back. */
export function NotLoaded({
  title,
  back,
  problem,
  retry,
}: {
  readonly title: string
  readonly back: { readonly path: string; readonly label: string }
  readonly problem: Problem | undefined
  readonly retry: () => void
}) {
  if (problem === undefined) return <Loading />
  return (
    <>
      <PageHead title={title} back={back} />
      <ProblemNote problem={problem} retry={retry} />
    </>
  )
}

/** Names and values. Rows without a value are left out. */
export function Facts({ rows }: { readonly rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{shown(value)}</dd>
          </div>
        ))}
    </dl>
  )
}

export function Tabs({
  label,
  items,
  current,
}: {
  readonly label: string
  readonly items: readonly { readonly path: string; readonly label: string; readonly count?: number | undefined }[]
  readonly current: string
}) {
  const bar = useRef<HTMLElement>(null)
  useEffect(() => {
    // On a narrow screen the current tab may be beyond the edge.
    const tab = bar.current?.querySelector<HTMLElement>('[aria-current]')
    if (tab) bar.current?.scrollTo({ left: tab.offsetLeft - bar.current.offsetLeft - tab.offsetWidth })
  }, [current])
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {items.map(({ path, label: text, count: items }) => (
        <a key={path} href={href(path)} aria-current={path === current ? 'page' : undefined}>
          {text}
          {items !== undefined && items > 0 && <span class="pip">{items}</span>}
        </a>
      ))}
    </nav>
  )
}

export function Json({ value }: { readonly value: unknown }) {
  return <pre class="json">{jsonText(value)}</pre>
}
