/** The settings in force, with each value's origin. The service masks secrets. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { Badge, Card, Empty, Loading, PageHead, ProblemNote } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'

export function SettingsPage() {
  const { document, problem, reload } = useGet('/settings')
  const [text, setText] = useState('')
  const [isChangedOnly, setChangedOnly] = useState(false)
  const items = document?.items ?? []
  const wanted = text.trim().toLowerCase()
  const shown = items.filter(
    ({ key, meaning, origin }) =>
      (wanted === '' || key.includes(wanted) || meaning.toLowerCase().includes(wanted)) &&
      (!isChangedOnly || origin !== 'default'),
  )
  const set = items.filter(({ origin }) => origin !== 'default').length
  return (
    <>
      <PageHead
        title="Settings"
        lead={`In force on this node: ${set} set, ${items.length - set} at their defaults. Change them in the configuration, not here.`}
      />
      <div class="filters">
        <label class="filter grow">
          <span>Find</span>
          <input
            type="search"
            value={text}
            placeholder="a key, or a word from its meaning"
            spellcheck={false}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label class="check filter-check">
          <input
            type="checkbox"
            checked={isChangedOnly}
            onChange={(event) => setChangedOnly(event.currentTarget.checked)}
          />
          <span>Only set values</span>
        </label>
      </div>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document === undefined && problem === undefined && <Loading />}
      {document !== undefined && <SettingsTable items={shown} />}
    </>
  )
}

function SettingsTable({ items }: { readonly items: readonly Schema<'Setting'>[] }) {
  return (
    <Card flush>
      {items.length === 0 ? (
        <Empty icon="settings" title="No setting matches">
          Search for part of a key or of its meaning. Clear the field to see all.
        </Empty>
      ) : (
        <Table
          caption="Settings"
          items={items}
          keyOf={({ key }) => key}
          columns={[
            {
              name: 'Setting',
              isWide: true,
              show: ({ key, meaning }) => (
                <>
                  <code class="setting-key">{key}</code>
                  <small class="quiet setting-meaning">{withCode(meaning)}</small>
                </>
              ),
            },
            { name: 'Value', show: ({ value }) => <Value of={value} /> },
            {
              name: 'Origin',
              show: ({ origin }) =>
                origin === 'default' ? <span class="quiet">default</span> : <Badge tone="info">{origin}</Badge>,
            },
            {
              name: 'A change applies',
              show: ({ live }) => (live ? 'on reload' : <span class="quiet">on restart</span>),
            },
          ]}
        />
      )}
    </Card>
  )
}

/** Turns the names in backticks into code. */
function withCode(meaning: string): ComponentChildren {
  return meaning.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))
}

const INLINE_CHARACTERS_MAX = 60

function Value({ of }: { readonly of: unknown }) {
  if (of === '' || of === undefined || of === null) return <span class="quiet">empty</span>
  if (typeof of !== 'object') return <code class="break">{String(of)}</code>
  const text = JSON.stringify(of)
  if (text === '[]' || text === '{}') return <span class="quiet">none</span>
  if (text.length <= INLINE_CHARACTERS_MAX) return <code class="break">{text}</code>
  return (
    <details>
      <summary>{Array.isArray(of) ? `${of.length} entries` : `${Object.keys(of).length} members`}</summary>
      <pre class="json">{JSON.stringify(of, null, 2)}</pre>
    </details>
  )
}
