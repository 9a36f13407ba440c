/** What a market without a live source means for its customers. */
import type { Schema } from '../base/operator-api.ts'
import { Card, Facts, Time } from '../ui/parts.tsx'

export function NoLiveSource({ market }: { readonly market: Schema<'Market'> }) {
  const { reason, stale_since } = market
  return (
    <Card title="This market has no live source" className="no-source">
      <Facts
        rows={[
          ['Reason', reason],
          ['Since', stale_since === undefined ? undefined : <Time key="since" at={stale_since} />],
          ['What customers see', `${shownBook(market)}, and the heartbeat reports live: false.`],
        ]}
      />
    </Card>
  )
}

/** The book is withdrawn after `stream.stale_seconds`, unless `stream.stale_action` keeps it. */
function shownBook({ version, bid_levels, ask_levels }: Schema<'Market'>): string {
  if (version === 0) return 'No book yet'
  if (bid_levels + ask_levels === 0) return 'The last book is withdrawn'
  return 'The last book, which is not withdrawn (stream.stale_seconds, stream.stale_action)'
}
