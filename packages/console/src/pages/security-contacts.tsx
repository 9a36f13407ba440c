/** A customer's security contacts, and the notices that were sent to them. */
import { call } from '../base/api.ts'
import { words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useList } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Badge, Card, Status, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'

type Customer = Schema<'Customer'>

export function SecurityContactsCard({
  customer,
  reload,
}: {
  readonly customer: Customer
  readonly reload: () => void
}) {
  const { id, security_contacts: contacts } = customer
  const notices = useList('/notices', { customer_id: id, order: 'DESC' })
  const test = () =>
    ask({
      title: 'Send a test notice?',
      consequence: <p>Every contact gets one, and so does the webhook of notices.</p>,
      confirm: 'Send',
      run: () => call('POST', `/customers/${id}/security-contacts/test`, {}),
      done: () => {
        notices.reload()
        return 'A test notice is on its way'
      },
    })
  return (
    <Card
      title="Security contacts"
      note={contacts.length === 0 ? 'none' : contacts.join(', ')}
      flush
      actions={
        <>
          {can('POST /customers/:id/security-contacts/test') && (
            <button type="button" onClick={test}>
              Send a test
            </button>
          )}
          {can('PUT /customers/:id/security-contacts') && (
            <button type="button" onClick={() => askContacts(customer, reload)}>
              Change
            </button>
          )}
        </>
      }
    >
      <ListTable
        caption="Notices"
        list={notices}
        keyOf={({ id: notice }) => notice}
        columns={[
          { name: 'Notice', show: ({ type }) => words(type.replace('.', '_').toUpperCase()) },
          { name: 'Sent', isWide: true, show: ({ sends }) => <Sends of={sends} /> },
          { name: 'Created', show: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty="No notice yet"
      />
    </Card>
  )
}

function Sends({ of }: { readonly of: Schema<'Notice'>['sends'] }) {
  if (of.length === 0) return <Badge tone="warn">No way to send it</Badge>
  return (
    <>
      {of.map(({ channel, recipient, status, last_error }) => (
        <div key={`${channel} ${recipient ?? ''}`}>
          <Status of={status} /> {recipient ?? channel} {last_error !== undefined && <small>{last_error}</small>}
        </div>
      ))}
    </>
  )
}

function askContacts({ id, name, security_contacts }: Customer, reload: () => void): void {
  ask({
    title: `Security contacts of ${name}`,
    consequence: (
      <p>
        They are notified of every new, approved or deleted destination, new secret and raised limit. The customer's own
        programs cannot change them.
      </p>
    ),
    confirm: 'Save',
    fourEyes: 'controls',
    fields: [
      {
        name: 'security_contacts',
        label: 'Mail addresses',
        kind: 'long',
        hint: 'one per line, at most 10',
        initial: security_contacts.join('\n'),
        isOptional: true,
      },
    ],
    run: ({ security_contacts: typed }) =>
      call('PUT', `/customers/${id}/security-contacts`, {
        security_contacts: String(typed)
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      }),
    done: () => {
      reload()
      return 'The contacts were saved'
    },
  })
}
