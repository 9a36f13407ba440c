/** Plans: their list, one with its bounds, and the choice of a customer's or a client's plan. */
import { call } from '../base/api.ts'
import { count, wholeNumber } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href, navigate } from '../base/router.ts'
import { can } from '../base/session.ts'
import { ask, type Field, type Values } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { Card, Facts, Loading, NotLoaded, PageHead, ProblemNote, timeFact } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { PendingRequests } from './pending-requests.tsx'

type Plan = Schema<'Plan'>
type Bound = 'depth_max' | 'interval_ms_min' | 'connections_max' | 'subscriptions_max' | 'rest_rate_per_second'

/** The built-in plan, which never changes. */
const UNLIMITED = 'unlimited'
const BACK = { path: '/plans', label: 'Plans' }

/** As the service names them; it refuses others. */
const CHANNELS = ['market_data', 'market_data.top_of_book', 'execution_data', 'publication', 'events']
const DEPTHS = [1, 5, 10, 25, 50, 100, 500, 1000]
const INTERVALS = [50, 100, 250, 500, 1000]

const BOUNDS: readonly (readonly [name: Bound, label: string, hint: string, choices?: readonly number[]])[] = [
  ['depth_max', 'Levels per side', 'of order books', DEPTHS],
  ['interval_ms_min', 'Milliseconds between messages', 'of order books and tops of book', INTERVALS],
  ['connections_max', 'Connections', 'of a customer on one node'],
  ['subscriptions_max', 'Subscriptions', 'of a customer on one node, besides heartbeats'],
  ['rest_rate_per_second', 'REST requests per second', 'of one client on one node'],
]

const bound = (value: number | undefined) => (value === undefined ? 'unlimited' : count(value))
const marketsOf = ({ markets }: Plan) => (markets.includes('*') ? 'all' : markets.join(', '))
const channelsOf = ({ channels }: Plan) => channels?.join(', ') ?? 'all'

export function PlansPage() {
  const { document, problem, reload } = useGet('/plans')
  return (
    <>
      <PageHead title="Plans" lead="The bounds of what customers use. Each customer has one plan.">
        {can('POST /plans') && (
          <button type="button" class="primary" onClick={askNewPlan}>
            <Icon name="plus" /> New plan
          </button>
        )}
      </PageHead>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document === undefined && problem === undefined && <Loading />}
      {document !== undefined && (
        <Card flush>
          <Table
            caption="Plans"
            items={document.items}
            keyOf={({ name }) => name}
            pathOf={({ name }) => `/plans/${name}`}
            columns={[
              { name: 'Name', show: ({ name }) => name },
              { name: 'Markets', isWide: true, show: (plan) => <span class="break">{marketsOf(plan)}</span> },
              { name: 'Channels', show: (plan) => channelsOf(plan) },
              ...BOUNDS.map(([name, label]) => ({
                name: label,
                isNumber: true,
                show: (plan: Plan) => bound(plan[name]),
              })),
            ]}
          />
        </Card>
      )}
    </>
  )
}

export function PlanPage({ name }: { readonly name: string }) {
  const { document, problem, reload } = useGet(`/plans/${name}`)
  if (document === undefined) return <NotLoaded title="Plan" back={BACK} problem={problem} retry={reload} />
  const isChangeable = name !== UNLIMITED
  return (
    <>
      <PageHead title={name} back={BACK} lead={isChangeable ? 'Plan' : 'The built-in plan, which has no bounds'}>
        {isChangeable && can('DELETE /plans/:name') && (
          <button type="button" onClick={() => askDeletion(name)}>
            Delete
          </button>
        )}
        {isChangeable && can('PATCH /plans/:name') && (
          <button type="button" onClick={() => askChange(document, reload)}>
            Change
          </button>
        )}
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={name} />
        <Card>
          <Facts
            rows={[
              [
                'Markets',
                <span key="m" class="break">
                  {marketsOf(document)}
                </span>,
              ],
              ['Channels', channelsOf(document)],
              ...BOUNDS.map(([each, label]) => [label, bound(document[each])] as const),
              ['Created', timeFact(document.created_at)],
              [
                'Records',
                <a key="a" href={href(`/audit?subject=${name}`)}>
                  audit
                </a>,
              ],
            ]}
          />
        </Card>
      </div>
    </>
  )
}

function fieldsOf(plan?: Plan): readonly Field[] {
  return [
    {
      name: 'markets',
      label: 'Markets',
      kind: 'long',
      hint: 'symbols, or * for all',
      initial: plan?.markets.join(' ') ?? '*',
    },
    {
      name: 'channels',
      label: 'Channels',
      kind: 'checks',
      hint: 'all of them: no bound',
      options: CHANNELS.map((channel) => [channel, channel] as const),
      initial: plan?.channels ?? CHANNELS,
    },
    ...BOUNDS.map(([name, label, hint, choices]): Field => {
      const initial = plan?.[name] === undefined ? '' : String(plan[name])
      if (choices === undefined) return { name, label, kind: 'number', hint, initial, isOptional: true }
      const options = [['', 'unlimited'] as const, ...choices.map((each) => [String(each), count(each)] as const)]
      return { name, label, kind: 'select', hint, initial, isOptional: true, options }
    }),
  ]
}

/** The bounds as the service takes them; null: none. */
function boundsOf(values: Values): Readonly<Record<string, unknown>> {
  const channels = values.channels as readonly string[]
  const symbols = String(values.markets).split(/[\s,]+/)
  return {
    markets: symbols.filter((symbol) => symbol !== ''),
    channels: CHANNELS.every((channel) => channels.includes(channel)) ? null : channels,
    ...Object.fromEntries(
      BOUNDS.map(([name]) => {
        const typed = String(values[name]).trim()
        return [name, typed === '' ? null : wholeNumber(typed)]
      }),
    ),
  }
}

function askNewPlan(): void {
  ask({
    title: 'New plan',
    consequence: <p>It has no effect until a customer or a client has it.</p>,
    confirm: 'Create',
    fourEyes: 'controls',
    fields: [{ name: 'name', label: 'Name', hint: 'small letters, digits, - and _' }, ...fieldsOf()],
    run: (values) => {
      const bounds = Object.entries(boundsOf(values)).filter(([, value]) => value !== null)
      return call('POST', '/plans', { name: values.name, ...Object.fromEntries(bounds) })
    },
    done: ({ name }) => {
      navigate(`/plans/${name}`)
      return `${name} was created`
    },
  })
}

function askChange(plan: Plan, reload: () => void): void {
  const { name } = plan
  ask({
    title: `Change the plan ${name}`,
    consequence: (
      <p>
        It acts within a second on every node: subscriptions outside the plan end, and books get its depth. No
        connection is closed.
      </p>
    ),
    confirm: 'Save',
    fourEyes: 'controls',
    fields: fieldsOf(plan),
    run: (values) => {
      const isChanged = ([each, value]: readonly [string, unknown]) =>
        JSON.stringify(value) !== JSON.stringify(plan[each as keyof Plan] ?? null)
      return call('PATCH', `/plans/${name}`, Object.fromEntries(Object.entries(boundsOf(values)).filter(isChanged)))
    },
    done: () => {
      reload()
      return `${name} was changed`
    },
  })
}

function askDeletion(name: string): void {
  ask({
    title: `Delete the plan ${name}?`,
    consequence: <p>A plan that a customer or client has cannot be deleted.</p>,
    confirm: 'Delete',
    isDangerous: true,
    fourEyes: 'controls',
    run: () => call('DELETE', `/plans/${name}`),
    done: () => {
      navigate('/plans')
      return `${name} was deleted`
    },
  })
}

/** Changes a customer's plan. */
export function askCustomerPlan(
  { id, name, plan }: Schema<'Customer'>,
  plans: readonly Plan[],
  done: () => void,
): void {
  ask({
    title: `Plan of ${name}`,
    consequence: (
      <p>
        It bounds the stream and the REST API at once: subscriptions outside the plan end, and books get its depth. The
        plan <code>unlimited</code> has no bounds.
      </p>
    ),
    confirm: 'Save',
    fourEyes: 'controls',
    fields: [choiceOf(plans, plan)],
    run: (values) => call('PATCH', `/customers/${id}`, { plan: values.plan }),
    done: () => {
      done()
      return `${name} has the plan`
    },
  })
}

/** Changes a client's own plan. */
export function askClientPlan(client: Schema<'Client'>, plans: readonly Plan[], done: () => void): void {
  const { client_id, name, plan = '' } = client
  ask({
    title: `Plan of ${name}`,
    consequence: <p>It narrows its customer's plan, at once. The bounds of both apply.</p>,
    confirm: 'Save',
    fourEyes: 'controls',
    fields: [{ ...choiceOf(plans, plan, [['', 'none of its own']]), isOptional: true }],
    run: (values) => call('PATCH', `/clients/${client_id}`, { plan: values.plan === '' ? null : values.plan }),
    done: () => {
      done()
      return `${name} has the plan`
    },
  })
}

function choiceOf(
  plans: readonly Plan[],
  initial: string,
  first: readonly (readonly [value: string, text: string])[] = [],
): Field {
  const options = [...first, ...plans.map((plan) => [plan.name, plan.name] as const)]
  return { name: 'plan', label: 'Plan', kind: 'select', initial, options }
}
