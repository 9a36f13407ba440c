/** The audit trail: every change with its actor, filtered by actor and record. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { shown } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { type List, useList } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { CsvButton, type CsvColumn } from '../ui/csv-button.tsx'
import { filterOf, TextFilter } from '../ui/filters.tsx'
import { Card, Empty, Id, Json, PageHead, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'

const CSV: readonly CsvColumn<Schema<'AuditEntry'>>[] = [
  { name: 'id', text: ({ id }) => id },
  { name: 'created_at', text: ({ created_at }) => created_at },
  { name: 'actor', text: ({ actor }) => actor },
  { name: 'action', text: ({ action }) => action },
  { name: 'subject', text: ({ subject }) => subject },
  { name: 'detail', text: ({ detail }) => JSON.stringify(detail) },
]

export function AuditPage() {
  const query = { actor: filterOf('actor'), subject: filterOf('subject') }
  const list = useList('/audit', query)
  return (
    <>
      <PageHead
        title="Audit"
        lead="Every change by an operator or a customer: who, what, when. Entries are never changed or deleted. The actor operator is the operator token, and worker is the service itself."
      >
        <CsvButton path="/audit" query={query} name="audit" columns={CSV} />
      </PageHead>
      <div class="filters">
        <div class="actor-filter">
          <TextFilter name="actor" label="Actor" placeholder="operator:NAME, client:ID" />
        </div>
        <div class="grow">
          <TextFilter name="subject" label="Record" placeholder="a record's id" />
        </div>
      </div>
      <Card flush>
        <AuditTable
          list={list}
          empty={
            <Empty icon="audit" title="No entry matches">
              An actor is <code>operator:NAME</code>, <code>client:ID</code> or <code>worker</code>. A record is named
              by its id.
            </Empty>
          }
        />
      </Card>
    </>
  )
}

/** The entries about one record. */
export function AuditCard({ subject }: { readonly subject: string }) {
  const list = useList('/audit', { subject })
  return (
    <Card title="History" flush actions={<a href={href(`/audit?subject=${subject}`)}>In the audit</a>}>
      <AuditTable
        list={list}
        empty={
          <Empty icon="audit" title="No entry yet">
            Changes to this record by a customer, an operator or the service appear here.
          </Empty>
        }
      />
    </Card>
  )
}

function AuditTable({ list, empty }: { readonly list: List<Schema<'AuditEntry'>>; readonly empty: ComponentChildren }) {
  return (
    <ListTable
      caption="Audit entries"
      list={list}
      keyOf={({ id }) => id}
      columns={[
        { name: 'Time (UTC)', show: ({ created_at }) => <Time at={created_at} exact /> },
        { name: 'Actor', show: ({ actor }) => <Actor of={actor} /> },
        { name: 'Action', show: ({ action }) => <code>{action}</code> },
        { name: 'Record', show: ({ subject }) => <Id of={subject} /> },
        { name: 'Detail', isWide: true, show: ({ detail }) => <Detail detail={detail} /> },
      ]}
      empty={empty}
    />
  )
}

function Actor({ of }: { readonly of: string }) {
  const [kind, name] = of.split(/:(.*)/)
  if (name === undefined) return <>{of}</>
  return kind === 'client' ? (
    <>
      client <Id of={name} to={`/clients/${name}`} />
    </>
  ) : (
    <strong class="actor">{name}</strong>
  )
}

/** The members in one line. Opening it shows the whole document. */
function Detail({ detail }: { readonly detail: Readonly<Record<string, unknown>> }) {
  const [isOpen, setOpen] = useState(false)
  const entries = Object.entries(detail)
  if (entries.length === 0) return null
  const line = entries.map(([name, value]) => `${name} ${typeof value === 'object' ? '…' : String(value)}`).join(', ')
  return (
    <div class="detail">
      <button type="button" class="bare text" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {shown(line)}
      </button>
      {isOpen && <Json value={detail} />}
    </div>
  )
}
