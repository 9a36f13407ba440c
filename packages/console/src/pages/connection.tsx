/**
 * One connection and the data sent to its client: lag, conflated messages, and per market the book and its last digest.
 */
import { bytesText, count, durationText } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { navigate } from '../base/router.ts'
import { Customer } from '../ui/customer.tsx'
import { Badge, Card, Empty, Facts, Id, NotLoaded, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { CloseButton, ConnectionState, millisecondsText } from './connections.tsx'

const REFRESH_MILLISECONDS = 2_000

export function ConnectionPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/connections/${id}`, undefined, REFRESH_MILLISECONDS)
  if (document === undefined)
    return (
      <NotLoaded
        title="Connection"
        back={{ path: '/customers', label: 'Customers' }}
        problem={problem}
        retry={reload}
      />
    )
  const { customer_id, client_id, queued_bytes, conflated_messages, pong_age_ms, round_trip_ms } = document
  const customerPath = `/customers/${customer_id}`
  return (
    <>
      <PageHead
        title={`Connection from ${document.client_address}`}
        back={{ path: customerPath, label: 'Customer' }}
        lead={
          <>
            Belongs to <Customer id={customer_id} />, open since <Time at={document.created_at} exact />
          </>
        }
      >
        <CloseButton connection={document} done={() => navigate(customerPath)} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <Card title="Status" note="updated every two seconds">
          <Facts
            rows={[
              ['State', <ConnectionState key="s" of={document} />],
              ['Last pong', pong_age_ms === undefined ? 'none yet' : `${durationText(pong_age_ms)} ago`],
              ['Round trip', round_trip_ms === undefined ? undefined : millisecondsText(round_trip_ms)],
              ['Unsent', bytesText(queued_bytes)],
              ['Conflated messages', conflated_messages === undefined ? undefined : count(conflated_messages)],
              ['Sent', bytesText(document.bytes_out)],
              ['Protocol', document.subprotocol ?? 'base protocol'],
              ['Heartbeat', document.heartbeat ? 'subscribed' : 'not subscribed'],
              ['Client', <Id key="c" of={client_id} to={`/clients/${client_id}`} />],
              ['Node', document.node],
              ['Id', <Id key="i" of={document.id} />],
            ]}
          />
        </Card>
        <MarketsCard connection={document} />
      </div>
    </>
  )
}

function MarketsCard({ connection: { markets, market_count } }: { readonly connection: Schema<'ConnectionDetails'> }) {
  const isCut = market_count > markets.length
  const note = isCut
    ? `the first ${count(markets.length)} of ${count(market_count)}`
    : "each book's version, and the digest with which the client compares its own book at that cursor"
  return (
    <Card title="Markets" flush note={note}>
      {markets.length === 0 ? (
        <Empty icon="markets" title="No market is subscribed">
          The client is connected and gets no data until it subscribes to a channel.
        </Empty>
      ) : (
        <Table
          caption="The connection's markets"
          items={markets}
          keyOf={({ market }) => market}
          columns={[
            { name: 'Market', show: ({ market }) => market },
            { name: 'Channels', isWide: true, show: ({ channels }) => channels.map(channelText).join(', ') },
            {
              name: 'State',
              show: ({ behind }) => <Badge tone={behind ? 'warn' : 'good'}>{behind ? 'Lagging' : 'Current'}</Badge>,
            },
            { name: 'Book sent', isNumber: true, show: ({ version }) => (version === undefined ? '' : count(version)) },
            { name: 'Book now', isNumber: true, show: ({ current_version }) => count(current_version) },
            {
              name: 'Last digest',
              show: ({ last_digest: digest }) => digest && <span class="mono">{digest.digest}</span>,
            },
            { name: 'Cursor', show: ({ last_digest: digest }) => digest && <span class="mono">{digest.cursor}</span> },
            { name: 'Digest sent', show: ({ last_digest: digest }) => <Time at={digest?.sent_at} /> },
          ]}
        />
      )}
    </Card>
  )
}

function channelText({
  type,
  depth,
  interval_ms,
  attribution,
}: Schema<'SubscribedMarket'>['channels'][number]): string {
  const chosen = [
    depth !== undefined && `depth ${depth}`,
    interval_ms !== undefined && `every ${interval_ms} ms`,
    attribution && 'with venues',
  ]
  const text = chosen.filter(Boolean).join(', ')
  return text === '' ? type : `${type} (${text})`
}
