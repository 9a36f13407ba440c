/** A customer's webhook endpoints: their list on the customer's page, and one with the requests to it. */
import { call } from '../base/api.ts'
import { count, wholeNumber } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet, useList } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Customer } from '../ui/customer.tsx'
import { Icon } from '../ui/icons.tsx'
import {
  Badge,
  Card,
  Facts,
  Id,
  idFact,
  NotLoaded,
  PageHead,
  ProblemNote,
  Status,
  Time,
  timeFact,
} from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'
import { showSecret } from './client-actions.tsx'

type Endpoint = Schema<'CustomerWebhookEndpoint'>

const REFRESH_MILLISECONDS = 4_000

export function WebhookEndpointsCard({
  id,
  clients,
}: {
  readonly id: string
  readonly clients: readonly Schema<'Client'>[]
}) {
  const list = useList(`/customers/${id}/webhook-endpoints`, {})
  return (
    <Card
      title="Webhook endpoints"
      flush
      actions={
        can('POST /customers/:id/webhook-endpoints') && (
          <button type="button" disabled={clients.length === 0} onClick={() => askNew(id, clients, list.reload)}>
            <Icon name="plus" /> New endpoint
          </button>
        )
      }
    >
      <ListTable
        caption="Webhook endpoints"
        list={list}
        keyOf={(endpoint) => endpoint.id}
        pathOf={(endpoint) => `/webhook-endpoints/${endpoint.id}`}
        columns={[
          { name: 'Address', isWide: true, show: ({ url }) => url },
          { name: 'Status', show: ({ status }) => <Status of={status} /> },
          { name: 'Sent up to', isNumber: true, show: ({ last_sequence }) => count(last_sequence) },
          { name: 'Created', show: ({ created_at }) => <Time at={created_at} /> },
        ]}
        empty="No webhook endpoint yet"
      />
    </Card>
  )
}

function askNew(id: string, clients: readonly Schema<'Client'>[], done: () => void): void {
  ask({
    title: 'New webhook endpoint',
    consequence: <p>It receives the next events that its client may read. Its secret is shown once.</p>,
    confirm: 'Create',
    fields: [
      { name: 'url', label: 'Address', hint: 'https on the public internet' },
      {
        name: 'client_id',
        label: 'Client',
        kind: 'select',
        options: clients.map(({ client_id, name }) => [client_id, name] as const),
      },
    ],
    run: ({ url, client_id }) => call('POST', `/customers/${id}/webhook-endpoints`, { url, client_id }),
    done: (endpoint) => {
      done()
      showNewSecret(endpoint)
      return undefined
    },
  })
}

function showNewSecret({ id, secret }: Endpoint): void {
  if (secret === undefined) return
  showSecret({ title: 'Webhook secret', rows: [['secret', secret]], file: `webhook-${id}.json` })
}

export function WebhookEndpointPage({ id }: { readonly id: string }) {
  const endpoint = useGet(`/webhook-endpoints/${id}`, {}, REFRESH_MILLISECONDS)
  const deliveries = useList(`/webhook-endpoints/${id}/deliveries`, {})
  const { document, problem, reload } = endpoint
  if (document === undefined)
    return (
      <NotLoaded
        title="Webhook endpoint"
        back={{ path: '/customers', label: 'Customers' }}
        problem={problem}
        retry={reload}
      />
    )
  const { customer_id, status } = document
  const changed = () => {
    reload()
    deliveries.reload()
  }
  return (
    <>
      <PageHead
        title="Webhook endpoint"
        back={{ path: `/customers/${customer_id}`, label: 'Customer' }}
        lead={
          <>
            Events of <Customer id={customer_id} />
          </>
        }
      >
        {status !== 'DELETED' && <Actions endpoint={document} reload={changed} />}
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <EndpointFacts endpoint={document} />
        <Card title="Requests" note="kept for 14 days" flush>
          <ListTable
            caption="Requests"
            list={deliveries}
            keyOf={(delivery) => delivery.id}
            columns={[
              { name: 'Sent', show: (delivery) => <Time at={delivery.created_at} /> },
              {
                name: 'Event',
                isNumber: true,
                show: ({ sequence }) => (sequence === undefined ? 'test' : count(sequence)),
              },
              { name: 'Attempt', isNumber: true, show: ({ attempt }) => count(attempt) },
              { name: 'Answer', show: (delivery) => <Answer of={delivery} /> },
              { name: 'Milliseconds', isNumber: true, show: ({ milliseconds }) => count(milliseconds) },
              { name: 'Error', isWide: true, show: ({ error }) => error },
            ]}
            empty="No request in the last 14 days"
          />
        </Card>
      </div>
    </>
  )
}

function EndpointFacts({ endpoint }: { readonly endpoint: Endpoint }) {
  const { id, client_id, url, types, status, disabled_reason, last_sequence, secrets, created_at } = endpoint
  return (
    <Card>
      <Facts
        rows={[
          ['Status', <Status key="s" of={status} />],
          ['Reason', disabled_reason],
          ['Address', url],
          ['Types', types.length === 0 ? 'all that its client may read' : types.join(', ')],
          ['Client', idFact(client_id, '/clients')],
          ['Sent up to', count(last_sequence)],
          ['Secrets', count(secrets.length)],
          ['Id', <Id key="i" of={id} />],
          ['Created', timeFact(created_at)],
        ]}
      />
    </Card>
  )
}

function Answer({ of: { status, error } }: { readonly of: Schema<'WebhookDelivery'> }) {
  return <Badge tone={error === undefined ? 'good' : 'bad'}>{status ?? 'none'}</Badge>
}

function Actions({ endpoint, reload }: { readonly endpoint: Endpoint; readonly reload: () => void }) {
  const { id, status } = endpoint
  const isActive = status === 'ACTIVE'
  return (
    <>
      {can('POST /webhook-endpoints/:id/test') && (
        <button type="button" onClick={() => askTest(id, reload)}>
          Send a test
        </button>
      )}
      {can('POST /webhook-endpoints/:id/replay') && (
        <button type="button" onClick={() => askReplay(endpoint, reload)}>
          Replay
        </button>
      )}
      {can('PATCH /webhook-endpoints/:id') && (
        <button type="button" onClick={() => askStatus(id, isActive, reload)}>
          {isActive ? 'Pause' : 'Activate'}
        </button>
      )}
      {can('DELETE /webhook-endpoints/:id') && (
        <button type="button" onClick={() => askDeletion(id, reload)}>
          Delete
        </button>
      )}
    </>
  )
}

function askTest(id: string, reload: () => void): void {
  ask({
    title: 'Send a test event?',
    consequence: <p>The endpoint gets one request within seconds, in any status.</p>,
    confirm: 'Send',
    run: () => call('POST', `/webhook-endpoints/${id}/test`, {}),
    done: () => {
      reload()
      return 'A test event is on its way'
    },
  })
}

function askReplay({ id, last_sequence }: Endpoint, reload: () => void): void {
  ask({
    title: 'Send events again?',
    consequence: <p>All events after this sequence are sent again, in order, with the same ids.</p>,
    confirm: 'Replay',
    fields: [{ name: 'after', label: 'After the sequence', kind: 'number', initial: String(last_sequence) }],
    run: ({ after }) => call('POST', `/webhook-endpoints/${id}/replay`, { after: wholeNumber(after) }),
    done: () => {
      reload()
      return 'The events are sent again'
    },
  })
}

function askStatus(id: string, isActive: boolean, reload: () => void): void {
  ask({
    title: isActive ? 'Pause this endpoint?' : 'Activate this endpoint?',
    consequence: (
      <p>{isActive ? 'It gets no events until it is activated.' : 'It gets all events since the last accepted one.'}</p>
    ),
    confirm: isActive ? 'Pause' : 'Activate',
    run: () => call('PATCH', `/webhook-endpoints/${id}`, { status: isActive ? 'PAUSED' : 'ACTIVE' }),
    done: () => {
      reload()
      return isActive ? 'The endpoint is paused' : 'The endpoint is active'
    },
  })
}

function askDeletion(id: string, reload: () => void): void {
  ask({
    title: 'Delete this endpoint?',
    consequence: <p>Nothing more is sent to it, and its secrets are no longer accepted. It cannot be restored.</p>,
    confirm: 'Delete',
    isDangerous: true,
    run: () => call('DELETE', `/webhook-endpoints/${id}`),
    done: () => {
      reload()
      return 'The endpoint was deleted'
    },
  })
}
