/** Connections of a customer as the service sees them: lag, bytes that wait, and closing one. */
import { call, type Page } from '../base/api.ts'
import { bytesText, count } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import type { Resource } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Badge, Card, Empty, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'

export function ConnectionsCard({
  connections: { document, problem, reload },
  clients,
}: {
  readonly connections: Resource<Page<Schema<'Connection'>>>
  readonly clients: readonly Schema<'Client'>[]
}) {
  const nameOf = (clientId: string) => clients.find(({ client_id }) => client_id === clientId)?.name ?? clientId
  const items = document?.items ?? []
  return (
    <Card title="Connections" flush note={items.length === 0 ? '' : `${items.length} on this node`}>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document !== undefined && items.length === 0 && (
        <Empty icon="markets" title="Not connected to this node">
          Open connections to the stream appear here with their lag.
        </Empty>
      )}
      {items.length > 0 && (
        <Table
          caption="Connections"
          items={items}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Client', show: ({ client_id }) => nameOf(client_id) },
            { name: 'Address', show: ({ client_address }) => <span class="mono">{client_address}</span> },
            {
              name: 'State',
              show: ({ behind, queued_bytes }) => (
                <Badge tone={behind ? 'warn' : 'good'}>
                  {behind ? `Lagging, ${bytesText(queued_bytes)} unsent` : 'Current'}
                </Badge>
              ),
            },
            { name: 'Protocol', show: ({ subprotocol }) => subprotocol ?? 'base protocol' },
            { name: 'Channels', isNumber: true, show: ({ subscriptions }) => count(subscriptions) },
            { name: 'Sent', isNumber: true, show: ({ bytes_out }) => bytesText(bytes_out) },
            { name: 'Open since', show: ({ created_at }) => <Time at={created_at} /> },
            ...(can('DELETE /connections/:id')
              ? [
                  {
                    name: 'Action',
                    show: (connection: Schema<'Connection'>) => <CloseButton connection={connection} reload={reload} />,
                  },
                ]
              : []),
          ]}
        />
      )}
    </Card>
  )
}

function CloseButton({
  connection,
  reload,
}: {
  readonly connection: Schema<'Connection'>
  readonly reload: () => void
}) {
  const close = () =>
    ask({
      title: 'Close this connection?',
      consequence: (
        <p>
          The connection from {connection.client_address} is closed. Its client may connect again at once; disable the
          client to prevent that.
        </p>
      ),
      confirm: 'Close',
      isDangerous: true,
      run: () => call('DELETE', `/connections/${connection.id}`),
      done: () => {
        reload()
        return 'The connection was closed'
      },
    })
  return (
    <button type="button" class="bare text" onClick={close}>
      Close
    </button>
  )
}
