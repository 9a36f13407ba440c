/**
 * A market's book at a chosen time, from this node's recordings. The slider moves over the minutes around that time.
 * Where nothing was recorded, the service names the nearest recorded times.
 */
import { useEffect, useState } from 'preact/hooks'
import { get, type Problem } from '../base/api.ts'
import { clockText, grouped, timeText } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useResource } from '../base/resource.ts'
import { DepthChart } from '../charts/lazy.tsx'
import type { Level } from '../live/level.ts'
import { Badge, Card, Empty, Facts, Loading, ProblemNote, Time } from '../ui/parts.tsx'

const DEPTH = 150
const ROWS = 12
const EXECUTIONS = 10
/** Half the slider's range. */
const RANGE_SECONDS = 300
const SETTLE_MILLISECONDS = 200

export function PastBookCard({ symbol }: { readonly symbol: string }) {
  const [centre, setCentre] = useState<number>()
  const [offset, setOffset] = useState(0)
  const open = (milliseconds: number) => {
    setCentre(milliseconds)
    setOffset(0)
  }
  const at = centre === undefined ? undefined : new Date(centre + offset * 1000).toISOString()
  const settled = useSettled(at)
  return (
    <Card title="Book at a time" note="from this node's recordings: what customers saw">
      <div class="filters">
        <label class="filter">
          <span>Time (UTC)</span>
          <input
            type="datetime-local"
            step="1"
            value={at?.slice(0, 19) ?? ''}
            onChange={(event) => {
              const chosen = Date.parse(`${event.currentTarget.value}Z`)
              if (!Number.isNaN(chosen)) open(chosen)
            }}
          />
        </label>
        <button type="button" onClick={() => open(Date.now() - 10_000)}>
          Ten seconds ago
        </button>
        {at !== undefined && (
          <label class="filter grow">
            <span class="num">
              {timeText(at)}, {offset === 0 ? 'the chosen time' : `${offset > 0 ? '+' : '−'}${Math.abs(offset)} s`}
            </span>
            <input
              type="range"
              min={-RANGE_SECONDS}
              max={RANGE_SECONDS}
              value={offset}
              onInput={(event) => setOffset(Number(event.currentTarget.value))}
            />
          </label>
        )}
      </div>
      {at === undefined ? (
        <Empty icon="markets" title="Choose a time">
          With <code>recording.dir</code> each book is recorded, and can be shown here for every millisecond.
        </Empty>
      ) : (
        <BookAt key={symbol} symbol={symbol} at={settled ?? at} open={open} />
      )}
    </Card>
  )
}

/** Follows a value once it has been stable for a moment, so a moving slider calls the service only when it rests. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE_MILLISECONDS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

function BookAt({
  symbol,
  at,
  open,
}: {
  readonly symbol: string
  readonly at: string
  readonly open: (milliseconds: number) => void
}) {
  const [last, setLast] = useState<{ readonly book: Schema<'Book'>; readonly at: string }>()
  const { document, problem, reload } = useResource(`${symbol} ${at}`, async (signal) => {
    const book = await get(`/markets/${symbol}/book`, { at, depth: DEPTH, executions: EXECUTIONS }, signal)
    setLast({ book, at })
    return book
  })
  if (problem !== undefined) return <NotRecorded problem={problem} open={open} retry={reload} />
  // Until the book at the chosen time is read, the previous one stays, with its own time.
  const shown = document === undefined ? last : { book: document, at }
  if (shown === undefined) return <Loading />
  const { book } = shown
  return (
    <div class="past-book">
      <Facts
        rows={[
          [
            'State',
            <Badge key="s" tone={book.live ? 'good' : 'bad'}>
              {book.live ? 'Live' : (book.reason ?? 'Not live')}
            </Badge>,
          ],
          ['Book at', `${timeText(shown.at)}${shown.at.slice(19, 23)}`],
          ['Last change before', book.committed_at === undefined ? undefined : clockText(book.committed_at)],
          ['Version', book.version],
          [
            'Recording',
            <span key="r" class="mono break">
              {book.recording}
            </span>,
          ],
        ]}
      />
      <div class="columns">
        <PastSide name="Bids" className="bids" levels={book.bids} />
        <PastSide name="Asks" className="asks" levels={book.asks} />
        <section>
          <h3>Executions before</h3>
          {(book.executions ?? []).length === 0 && <p class="quiet">None recorded.</p>}
          {(book.executions ?? []).map((execution) => (
            <div class={`tape-row ${execution.side ?? ''}`} key={execution.id ?? execution.committed_at}>
              <span class="num quiet">{clockText(execution.committed_at)}</span>
              <span class="num price">{grouped(execution.price)}</span>
              <span class="num">{execution.amount}</span>
            </div>
          ))}
        </section>
      </div>
      <DepthChart symbol={symbol} book={book} />
    </div>
  )
}

function PastSide({
  name,
  className,
  levels,
}: {
  readonly name: string
  readonly className: string
  readonly levels: readonly Level[]
}) {
  return (
    <section class={`ladder-side ${className}`}>
      <h3>{name}</h3>
      {levels.length === 0 && <p class="quiet">No level.</p>}
      {levels.slice(0, ROWS).map(({ price, amount }) => (
        <div class="past-row" key={price}>
          <span class="num price">{grouped(price)}</span>
          <span class="num">{amount}</span>
        </div>
      ))}
    </section>
  )
}

function NotRecorded({
  problem,
  open,
  retry,
}: {
  readonly problem: Problem
  readonly open: (milliseconds: number) => void
  readonly retry: () => void
}) {
  const times = (['recorded_before', 'recorded_after'] as const).flatMap((name) => {
    const time = problem.meta[name]
    return typeof time === 'string' ? [[name, time] as const] : []
  })
  return (
    <div class="stack">
      <ProblemNote problem={problem} {...(times.length === 0 ? { retry } : {})} />
      {times.length > 0 && (
        <p class="actions">
          {times.map(([name, time]) => (
            <button key={name} type="button" onClick={() => open(Date.parse(time))}>
              {name === 'recorded_before' ? 'Last recorded before' : 'First recorded after'}: <Time at={time} exact />
            </button>
          ))}
        </p>
      )}
    </div>
  )
}
