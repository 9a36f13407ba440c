/** The customer list, and the dialog for a new one. */
import { call } from '../base/api.ts'
import { useList } from '../base/resource.ts'
import { navigate } from '../base/router.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { filterOf, TextFilter } from '../ui/filters.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Empty, PageHead, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'

export function CustomersPage() {
  const list = useList('/customers', { search: filterOf('name') })
  return (
    <>
      <PageHead title="Customers" lead="Who may connect, with which clients and scopes.">
        {can('POST /customers') && (
          <button type="button" class="primary" onClick={askNewCustomer}>
            <Icon name="plus" /> New customer
          </button>
        )}
      </PageHead>
      <div class="filters">
        <TextFilter name="name" label="Name" placeholder="the first letters" />
      </div>
      <Card flush>
        <ListTable
          caption="Customers"
          list={list}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/customers/${id}`}
          columns={[
            { name: 'Name', show: ({ name }) => name },
            {
              name: 'State',
              show: ({ enabled }) => <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'Enabled' : 'Disabled'}</Badge>,
            },
            {
              name: 'Stream',
              show: ({ streaming }) => (
                <Badge tone={streaming ? 'good' : 'quiet'}>{streaming ? 'On the allow list' : 'Not allowed'}</Badge>
              ),
            },
            { name: 'Created', show: ({ created_at }) => <Time at={created_at} exact /> },
          ]}
          empty={
            <Empty icon="customers" title={filterOf('name') === '' ? 'No customer yet' : 'No name begins with this'}>
              A customer owns clients, which connect with a secret, and accounts and profiles, which hold money.
            </Empty>
          }
        />
      </Card>
    </>
  )
}

function askNewCustomer(): void {
  ask({
    title: 'New customer',
    consequence: <p>The customer exists at once. It can connect once it has a client.</p>,
    confirm: 'Create',
    fields: [
      { name: 'name', label: 'Name' },
      { name: 'streaming', label: "On the stream's allow list", kind: 'check', initial: true },
    ],
    run: ({ name, streaming }) => call('POST', '/customers', { name, streaming }),
    done: ({ id, name }) => {
      navigate(`/customers/${id}`)
      return `${name} was created`
    },
  })
}
