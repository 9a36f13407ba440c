/** One orchestration: amounts, price with its evidence, why it waits, and its actions. */
import { type Answer, call } from '../base/api.ts'
import { words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { ask, type Field, type Values } from '../ui/action-dialog.tsx'
import { Customer } from '../ui/customer.tsx'
import {
  Amount,
  Badge,
  Card,
  Facts,
  failureFact,
  Id,
  idFact,
  Json,
  Loading,
  NotLoaded,
  PageHead,
  ProblemNote,
  Status,
  Time,
  timeFact,
} from '../ui/parts.tsx'
import { PlaceFacts } from '../ui/place.tsx'
import { AuditCard } from './audit.tsx'
import { PendingRequests } from './pending-requests.tsx'
import { ClosedGates, canRelease, releaseBody, releaseFields } from './release.tsx'

const BACK = { path: '/money/orchestrations', label: 'Orchestrations' }

export function OrchestrationPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/orchestrations/${id}`)
  if (document === undefined) return <NotLoaded title="Orchestration" back={BACK} problem={problem} retry={reload} />
  const { source_amount, source_asset, destination_amount, destination_asset, customer_id, waiting_for } = document
  return (
    <>
      <PageHead
        title={
          <>
            <Amount of={source_amount} asset={source_asset} /> →{' '}
            {destination_amount === undefined ? (
              destination_asset
            ) : (
              <Amount of={destination_amount} asset={destination_asset} />
            )}
          </>
        }
        back={BACK}
        lead={
          <>
            Orchestration of <Customer id={customer_id} />
          </>
        }
      >
        <OrchestrationActions orchestration={document} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        {waiting_for !== undefined && <WaitNote orchestration={document} waitingFor={waiting_for} />}
        <ClosedGates gates={document.gates} />
        <OrchestrationFacts orchestration={document} />
        <Card title="Sent to">
          <PlaceFacts of={document.destination} />
        </Card>
        {document.destination_amount !== undefined && can('GET /orchestrations/:id/price') && <PriceCard id={id} />}
        <AuditCard subject={id} />
      </div>
    </>
  )
}

function WaitNote({
  orchestration: { step, gates, waiting_since, waiting_detail, expires_at },
  waitingFor,
}: {
  readonly orchestration: Schema<'OperatorOrchestration'>
  readonly waitingFor: string
}) {
  // Only a conversion expires, and not while a gate is closed.
  const canExpire = step === 'convert' && gates === undefined
  return (
    <p class="notice">
      Waiting for {words(waitingFor).toLowerCase()} since <Time at={waiting_since} />
      {waiting_detail === undefined ? '' : `: ${waiting_detail}`}.{canExpire && ' It expires at '}
      {canExpire && <Time at={expires_at} exact />}
    </p>
  )
}

function OrchestrationFacts({ orchestration }: { readonly orchestration: Schema<'OperatorOrchestration'> }) {
  const { id, price, price_source, receipt, source_asset } = orchestration
  return (
    <Card>
      <Facts
        rows={[
          ['Status', <Status key="s" of={orchestration.status} />],
          ['Why it failed', failureFact(orchestration.fail_reason)],
          ['Price', price === undefined ? undefined : `${price} (${price_source})`],
          ['Fee', receipt === undefined ? undefined : <Amount key="f" of={receipt.fee_amount} asset={source_asset} />],
          ['Deposit', idFact(orchestration.deposit_id, '/money/deposits')],
          ['Rule', idFact(orchestration.orchestration_rule_id, '/review/rules')],
          ['Retry of', idFact(orchestration.retry_of, '/money/orchestrations')],
          ['Profile', idFact(orchestration.profile_id, '/money/profiles')],
          ["Customer's reference", orchestration.ref_id],
          ['Created', timeFact(orchestration.created_at)],
          ['Id', <Id key="i" of={id} />],
        ]}
      />
      <p class="below">
        <a href={href(`/money/deliveries?orchestration=${id}`)}>Its delivery</a>
      </p>
    </Card>
  )
}

function PriceCard({ id }: { readonly id: string }) {
  const { document, problem } = useGet(`/orchestrations/${id}/price`)
  if (problem !== undefined) return <ProblemNote problem={problem} />
  if (document === undefined) return <Loading />
  const { explanation, evidence } = document
  return (
    <Card
      title="How the price was computed"
      note="recomputed from the stored evidence"
      actions={
        <Badge tone={explanation.adds_up ? 'good' : 'bad'}>
          {explanation.adds_up ? 'Every value adds up' : 'Values differ'}
        </Badge>
      }
    >
      <ol class="steps">
        {explanation.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
        {explanation.differences.map(({ value, stored, recomputed }) => (
          <li key={value} class="difference">
            {value}: stored {stored}, recomputed {recomputed}
          </li>
        ))}
      </ol>
      <details>
        <summary>Evidence</summary>
        <Json value={evidence} />
      </details>
    </Card>
  )
}

const REASON: Field = { name: 'reason', label: 'Reason', kind: 'long', hint: 'the customer sees it' }

type Document = Schema<'OperatorOrchestration'>

/** An action that is not dangerous moves money again, so it may need a second person. */
interface OrchestrationAction {
  readonly name: string
  readonly path: 'reject' | 'release' | 'retry'
  readonly isOffered: (orchestration: Document) => boolean
  readonly consequence: string
  readonly isDangerous?: boolean
  readonly fields?: (orchestration: Document) => readonly Field[]
  readonly run: (orchestration: Document, values: Values) => Promise<Answer<Document>>
}

const ACTIONS: readonly OrchestrationAction[] = [
  {
    name: 'Reject',
    path: 'reject',
    // After the conversion its delivery has the money, and is failed instead.
    isOffered: ({ step, gates = [] }) => step === 'convert' && gates.some(({ code }) => code !== 'PAUSED'),
    consequence: "It fails, and the money returns to the profile's balance.",
    isDangerous: true,
    fields: () => [REASON],
    run: ({ id }, { reason }) => call('POST', `/orchestrations/${id}/reject`, { reason }),
  },
  {
    name: 'Release',
    path: 'release',
    isOffered: ({ gates }) => canRelease(gates),
    consequence: 'It continues once no other gate is closed: it is converted at the current price and delivered.',
    fields: ({ gates }) => releaseFields(gates),
    run: ({ id, version }, values) => call('POST', `/orchestrations/${id}/release`, releaseBody(values, version)),
  },
  {
    name: 'Retry',
    path: 'retry',
    // What its customer has cancelled cannot be retried.
    isOffered: ({ status, fail_reason }) => status === 'FAILED' && fail_reason?.code !== 'CANCELLED',
    consequence: "A new orchestration with the same terms starts from the profile's balance, at the current price.",
    run: ({ id }) => call('POST', `/orchestrations/${id}/retry`, {}),
  },
]

function OrchestrationActions({
  orchestration,
  reload,
}: {
  readonly orchestration: Document
  readonly reload: () => void
}) {
  const start = ({ name, consequence, isDangerous = false, fields, run }: OrchestrationAction) =>
    ask({
      title: `${name} this orchestration?`,
      consequence: (
        <>
          <p>{consequence}</p>
          <PlaceFacts of={orchestration.destination} />
        </>
      ),
      confirm: name,
      isDangerous,
      ...(isDangerous ? {} : { fourEyes: 'deposits' }),
      ...(fields === undefined ? {} : { fields: fields(orchestration) }),
      run: (values) => run(orchestration, values),
      done: () => {
        reload()
        return `${name}: done`
      },
    })
  return (
    <>
      {ACTIONS.filter(({ path, isOffered }) => can(`POST /orchestrations/:id/${path}`) && isOffered(orchestration)).map(
        (action) => (
          <button
            key={action.path}
            type="button"
            {...(action.isDangerous ? {} : { class: 'primary' })}
            onClick={() => start(action)}
          >
            {action.name}
          </button>
        ),
      )}
    </>
  )
}
