/** A customer's connections as the service sees them: lag, unsent bytes, and a button to close one. */
import { call } from '../base/api.ts'
import { bytesText, count, shortId } from '../base/format.ts'
import type { AnswerOf, Schema } from '../base/operator-api.ts'
import type { Resource } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Badge, Card, Empty, Facts, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'

export function ConnectionsCard({
  connections: { document, problem, reload },
  clients,
}: {
  readonly connections: Resource<AnswerOf<'GET', '/connections'>>
  readonly clients: readonly Schema<'Client'>[]
}) {
  const nameOf = (clientId: string) =>
    clients.find(({ client_id }) => client_id === clientId)?.name ?? shortId(clientId)
  const items = document?.items ?? []
  const nodes = document?.nodes ?? []
  const total = nodes.reduce((sum, { connections = 0 }) => sum + connections, 0)
  const missing = nodes.flatMap(({ node, problem: reason }) => (reason === undefined ? [] : [[node, reason] as const]))
  return (
    <Card
      title="Connections"
      flush
      note={total > items.length ? `the newest ${items.length} of ${count(total)}` : total === 0 ? '' : count(total)}
    >
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {missing.length > 0 && (
        <div class="inset">
          <p>The connections of these nodes are missing:</p>
          <Facts rows={missing} />
        </div>
      )}
      {document !== undefined && items.length === 0 && (
        <Empty icon="markets" title="Not connected">
          Open connections to the stream appear here with their lag.
        </Empty>
      )}
      {items.length > 0 && (
        <Table
          caption="Connections"
          items={items}
          keyOf={({ id }) => id}
          pathOf={({ id }) => `/customers/connections/${id}`}
          columns={[
            { name: 'Client', show: ({ client_id }) => nameOf(client_id) },
            { name: 'Address', show: ({ client_address }) => <span class="mono">{client_address}</span> },
            {
              name: 'State',
              show: (connection) => <ConnectionState of={connection} />,
            },
            { name: 'Round trip', isNumber: true, show: ({ round_trip_ms }) => millisecondsText(round_trip_ms) },
            { name: 'Protocol', show: ({ subprotocol }) => subprotocol ?? 'base protocol' },
            { name: 'Channels', isNumber: true, show: ({ subscriptions }) => count(subscriptions) },
            { name: 'Conflated', isNumber: true, show: ({ conflated_messages = '' }) => conflated_messages },
            { name: 'Sent', isNumber: true, show: ({ bytes_out }) => bytesText(bytes_out) },
            { name: 'Open since', show: ({ created_at }) => <Time at={created_at} /> },
            ...(nodes.length > 1 ? [{ name: 'Node', show: ({ node }: Schema<'Connection'>) => node }] : []),
            ...(can('DELETE /connections/:id')
              ? [
                  {
                    name: 'Action',
                    show: (connection: Schema<'Connection'>) => (
                      <CloseButton connection={connection} isInTable done={reload} />
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
    </Card>
  )
}

/** Whether the connection lags, and whether its client reads: a stopped client may take megabytes before it lags. */
export function ConnectionState({
  of: { behind, reading, queued_bytes },
}: {
  readonly of: Pick<Schema<'Connection'>, 'behind' | 'reading' | 'queued_bytes'>
}) {
  return (
    <>
      {behind && <Badge tone="warn">{`Lagging, ${bytesText(queued_bytes)} unsent`}</Badge>}
      {reading === false && <Badge tone="bad">Not reading</Badge>}
      {!behind && reading !== false && <Badge tone="good">Current</Badge>}
    </>
  )
}

export function millisecondsText(milliseconds: number | undefined): string {
  return milliseconds === undefined ? '' : `${count(milliseconds)} ms`
}

export function CloseButton({
  connection,
  isInTable = false,
  done,
}: {
  readonly connection: Schema<'Connection'>
  readonly isInTable?: boolean
  readonly done: () => void
}) {
  if (!can('DELETE /connections/:id')) return null
  const close = () =>
    ask({
      title: 'Close this connection?',
      consequence: (
        <p>
          The connection from {connection.client_address} is closed. Its client may connect again at once. Disable the
          client to prevent that.
        </p>
      ),
      confirm: 'Close',
      isDangerous: true,
      run: () => call('DELETE', `/connections/${connection.id}`),
      done: () => {
        done()
        return 'The connection was closed'
      },
    })
  return (
    <button type="button" class={isInTable ? 'bare text' : 'danger'} onClick={close}>
      Close
    </button>
  )
}
