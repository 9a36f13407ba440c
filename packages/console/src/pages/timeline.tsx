/** A deposit's history as a timeline. Each event opens to show its values. */
import { clockText, shortId, shown } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { CsvOfRows } from '../ui/csv-button.tsx'
import { Card, Json } from '../ui/parts.tsx'

const CSV = [
  { name: 'at', text: ({ at }: Schema<'TraceEntry'>) => at },
  { name: 'kind', text: ({ kind }: Schema<'TraceEntry'>) => kind },
  { name: 'text', text: ({ text }: Schema<'TraceEntry'>) => text },
]

/** The event's values contain the ids in full. */
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const KIND_NAMES: Readonly<Record<string, string>> = { sighting: 'report', audit: 'action' }

export function Timeline({
  entries,
  name,
}: {
  readonly entries: readonly Schema<'TraceEntry'>[]
  readonly name: string
}) {
  const days = [...new Set(entries.map(({ at }) => at.slice(0, 10)))]
  return (
    <Card title="What happened" note="UTC" actions={<CsvOfRows items={entries} name={name} columns={CSV} />}>
      {days.map((day) => (
        <section key={day}>
          <h3 class="day num">{day}</h3>
          <ol class="timeline">
            {entries
              .filter(({ at }) => at.startsWith(day))
              .map((entry, index) => (
                <li key={index} class={entry.kind}>
                  <time class="num quiet" dateTime={entry.at}>
                    {clockText(entry.at)}
                  </time>
                  <details>
                    <summary>
                      {shown(entry.text.replace(UUID, shortId))}
                      <span class="kind">{KIND_NAMES[entry.kind] ?? entry.kind}</span>
                    </summary>
                    <Json value={entry.detail} />
                  </details>
                </li>
              ))}
          </ol>
        </section>
      ))}
    </Card>
  )
}
