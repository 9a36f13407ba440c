/** The customer list, and one customer: its rights, clients, profiles, quotas, and its connections as the service sees them. */
import { call } from '../base/api.ts'
import { count } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { type List, useGet, useList } from '../base/resource.ts'
import { href, navigate } from '../base/router.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { filterOf, TextFilter } from '../ui/filters.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Empty, Facts, Id, NotLoaded, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'
import { askNewClient } from './client-actions.tsx'
import { ConnectionsCard } from './connections.tsx'
import { LimitsCard } from './limits.tsx'
import { PendingRequests } from './pending-requests.tsx'
import { askCustomerPlan } from './plans.tsx'
import { SecurityContactsCard } from './security-contacts.tsx'
import { WebhookEndpointsCard } from './webhook-endpoint.tsx'

const REFRESH_MILLISECONDS = 4_000

const BACK = { path: '/customers', label: 'Customers' }
/** In one page: a webhook endpoint can be given to any of them. */
const ALL_CLIENTS = { limit: 1_000 }

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

export function CustomerPage({ id }: { readonly id: string }) {
  // New security contacts replace all of them, so an old page would remove what another person has added since.
  const customer = useGet(`/customers/${id}`, undefined, REFRESH_MILLISECONDS)
  const clients = useList(`/customers/${id}/clients`, ALL_CLIENTS)
  const connections = useGet('/connections', { customer_id: id, limit: 200 }, REFRESH_MILLISECONDS)
  const { document, problem, reload } = customer
  if (document === undefined) return <NotLoaded title="Customer" back={BACK} problem={problem} retry={reload} />
  return (
    <>
      <PageHead
        title={document.name}
        back={BACK}
        lead={
          <>
            Customer since <Time at={document.created_at} exact />
          </>
        }
      >
        <CustomerActions customer={document} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        <Card>
          <Facts
            rows={[
              [
                'State',
                <Badge key="s" tone={document.enabled ? 'good' : 'bad'}>
                  {document.enabled ? 'Enabled' : 'Disabled'}
                </Badge>,
              ],
              [
                'Stream',
                <Badge key="l" tone={document.streaming ? 'good' : 'quiet'}>
                  {document.streaming ? 'On the allow list' : 'Not allowed'}
                </Badge>,
              ],
              [
                'Plan',
                <a key="p" href={href(`/plans/${document.plan}`)}>
                  {document.plan}
                </a>,
              ],
              ['Id', <Id key="i" of={document.id} />],
              [
                'Records',
                <span key="r">
                  <a href={href(`/review/accounts?customer=${id}`)}>Accounts</a>,{' '}
                  <a href={href(`/money/deposits?customer=${id}`)}>deposits</a>,{' '}
                  <a href={href(`/money/orchestrations?customer=${id}`)}>orchestrations</a>,{' '}
                  <a href={href(`/audit?subject=${id}`)}>audit</a>
                </span>,
              ],
            ]}
          />
        </Card>
        <ClientsCard list={clients} customer={document} />
        <ConnectionsCard connections={connections} clients={clients.items ?? []} />
        {can('GET /limits') && <LimitsCard id={id} name={document.name} />}
        {can('GET /notices') && <SecurityContactsCard customer={document} reload={reload} />}
        {can('GET /customers/:id/webhook-endpoints') && <WebhookEndpointsCard id={id} clients={clients.items ?? []} />}
        <div class="columns">
          <ProfilesCard id={id} />
          <QuotasCard id={id} />
        </div>
      </div>
    </>
  )
}

function CustomerActions({ customer, reload }: { readonly customer: Schema<'Customer'>; readonly reload: () => void }) {
  const plans = useGet('/plans').document?.items ?? []
  if (!can('PATCH /customers/:id')) return null
  const { id, name, enabled, streaming } = customer
  const change = (title: string, consequence: string, confirm: string, body: object, isDangerous: boolean) =>
    ask({
      title,
      consequence: <p>{consequence}</p>,
      confirm,
      isDangerous,
      run: () => call('PATCH', `/customers/${id}`, body),
      done: () => {
        reload()
        return `${name} was changed`
      },
    })
  return (
    <>
      <button type="button" disabled={plans.length === 0} onClick={() => askCustomerPlan(customer, plans, reload)}>
        Change plan
      </button>
      <button
        type="button"
        onClick={() =>
          streaming
            ? change(
                `Remove ${name} from the allow list?`,
                'Its open connections to the stream are closed at once, and new ones are refused. Its other rights stay.',
                'Remove',
                { streaming: false },
                true,
              )
            : change(
                `Add ${name} to the allow list?`,
                'Its clients with the stream scope can connect at once.',
                'Add',
                { streaming: true },
                false,
              )
        }
      >
        {streaming ? 'Remove from allow list' : 'Add to allow list'}
      </button>
      <button
        type="button"
        onClick={() =>
          enabled
            ? change(
                `Disable ${name}?`,
                'It gets no tokens, its tokens stop working, and its connections are closed at once. Nothing is deleted, and deposits still arrive and are credited.',
                'Disable',
                { enabled: false },
                true,
              )
            : change(
                `Enable ${name}?`,
                'Its clients can get tokens and connect again.',
                'Enable',
                { enabled: true },
                false,
              )
        }
      >
        {enabled ? 'Disable' : 'Enable'}
      </button>
    </>
  )
}

function ClientsCard({
  list,
  customer,
}: {
  readonly list: List<Schema<'Client'>>
  readonly customer: Schema<'Customer'>
}) {
  return (
    <Card
      title="Clients"
      flush
      actions={
        can('POST /customers/:id/clients') && (
          <button type="button" onClick={() => askNewClient(customer, list.reload)}>
            <Icon name="plus" /> New client
          </button>
        )
      }
    >
      <ListTable
        caption={`Clients of ${customer.name}`}
        list={list}
        keyOf={({ client_id }) => client_id}
        pathOf={({ client_id }) => `/clients/${client_id}`}
        columns={[
          { name: 'Name', show: ({ name }) => name },
          {
            name: 'State',
            show: ({ enabled }) => <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'Enabled' : 'Disabled'}</Badge>,
          },
          { name: 'Client id', show: ({ client_id }) => <Id of={client_id} /> },
          { name: 'Scopes', isNumber: true, show: ({ scopes }) => count(scopes.length) },
          { name: 'Secrets', isNumber: true, show: ({ secrets }) => count(secrets.length) },
          { name: 'Created', show: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty={
          <Empty icon="key" title="This customer has no client">
            The customer's programs log in as a client, with an id, a secret, and the scopes it may use.
          </Empty>
        }
      />
    </Card>
  )
}

function ProfilesCard({ id }: { readonly id: string }) {
  const list = useList(`/customers/${id}/profiles`, {})
  const create = () =>
    ask({
      title: 'New profile',
      consequence: <p>A profile without an account holds the customer's own balances.</p>,
      confirm: 'Create',
      fields: [{ name: 'nickname', label: 'Name' }],
      run: ({ nickname }) => call('POST', `/customers/${id}/profiles`, { nickname }),
      done: () => {
        list.reload()
        return 'The profile was created'
      },
    })
  return (
    <Card
      title="Profiles"
      flush
      actions={
        can('POST /customers/:id/profiles') && (
          <button type="button" onClick={create}>
            <Icon name="plus" /> New profile
          </button>
        )
      }
    >
      <ListTable
        caption="Profiles"
        list={list}
        keyOf={(profile) => profile.id}
        pathOf={(profile) => `/money/profiles/${profile.id}`}
        columns={[
          { name: 'Profile', show: (profile) => profile.nickname ?? "an account's" },
          { name: 'Id', show: (profile) => <Id of={profile.id} /> },
          { name: 'Created', show: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty="No profile yet: the first account creates one"
      />
    </Card>
  )
}

function QuotasCard({ id }: { readonly id: string }) {
  const quotas = useGet(`/customers/${id}/quotas`)
  const { document, problem, reload } = quotas
  return (
    <Card title="Quotas">
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document !== undefined && (
        <div class="meters">
          {(
            [
              ['Accounts', document.accounts],
              ['Deposit addresses', document.addresses],
              ['Rules', document.rules],
              ['Created today', document.creations_today],
            ] as const
          ).map(([name, { used, limit }]) => (
            <label key={name}>
              <span>{name}</span>
              <span class="num quiet">
                {count(used)} of {count(limit)}
              </span>
              <meter min={0} max={limit} high={limit * 0.9} value={used} />
            </label>
          ))}
        </div>
      )}
    </Card>
  )
}
