/** A customer's limits on what leaves, with their use, and its own limits in place of the defaults. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Amount, Card, Empty, ProblemNote, Time } from '../ui/parts.tsx'
import { type Place, PlaceFacts } from '../ui/place.tsx'
import { Table } from '../ui/table.tsx'

const REFRESH_MILLISECONDS = 30_000

type Use = Schema<'CustomerLimits'>['use'][number]

export function LimitsCard({ id, name }: { readonly id: string; readonly name: string }) {
  const { document, problem, reload } = useGet('/limits', { customer_id: id }, REFRESH_MILLISECONDS)
  return (
    <Card
      title="Limits"
      note="on what leaves"
      flush
      actions={
        document !== undefined &&
        can('PUT /limits') && (
          <button type="button" onClick={() => askLimits(id, name, document.limits, reload)}>
            Change
          </button>
        )
      }
    >
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document?.use.length === 0 && (
        <Empty title="No limit applies">
          Limits come from <code>limits.defaults</code>, or are set here for this customer.
        </Empty>
      )}
      {document !== undefined && document.use.length > 0 && (
        <Table
          caption={`Limits of ${name}`}
          items={document.use}
          keyOf={({ scope, asset, window, destination_id = '' }) => `${scope} ${asset} ${window} ${destination_id}`}
          columns={[
            { name: 'Limit', show: (use) => <Amount of={use.limit} asset={use.asset} /> },
            { name: 'For', isWide: true, show: (use) => <Scope of={use} /> },
            { name: 'Used', isNumber: true, show: ({ used }) => <Amount of={used} /> },
            { name: 'Available', isNumber: true, show: ({ available }) => <Amount of={available} /> },
            { name: 'Next release', show: ({ next_release_at }) => <Time at={next_release_at} exact /> },
          ]}
        />
      )}
    </Card>
  )
}

function Scope({ of: { scope, window, destination } }: { readonly of: Use }) {
  const span = window === 'day' ? 'in 24 hours' : 'in one movement'
  if (scope === 'customer') return <>all together, {span}</>
  if (destination === undefined) return <>each destination, {span}</>
  return (
    <>
      this destination, {span} <PlaceFacts of={destination as Place} />
    </>
  )
}

const LINE = /^(\S+)\s+(\S+)\s+(\S+)\s+(\S+)$/

/** One limit per line: `customer day USDC 100000`. The service names what is wrong with a line. */
function readLimits(text: string) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, scope, window, asset, amount] = LINE.exec(line) ?? []
      return { scope, window, asset, amount }
    })
}

function askLimits(id: string, name: string, present: Schema<'CustomerLimits'>['limits'], reload: () => void): void {
  ask({
    title: `Limits of ${name}`,
    consequence: (
      <p>
        They replace this customer's own limits. Without one for a scope, window and asset, <code>limits.defaults</code>{' '}
        applies. The security contacts are notified of a raised limit.
      </p>
    ),
    confirm: 'Save',
    fourEyes: 'controls',
    fields: [
      {
        name: 'limits',
        label: 'Limits',
        kind: 'long',
        hint: 'one per line: customer or destination, day or movement, asset, amount',
        initial: present.map(({ scope, window, asset, amount }) => `${scope} ${window} ${asset} ${amount}`).join('\n'),
        isOptional: true,
      },
    ],
    run: ({ limits }) => call('PUT', '/limits', { customer_id: id, limits: readLimits(String(limits)) }),
    done: () => {
      reload()
      return 'The limits were saved'
    },
  })
}
