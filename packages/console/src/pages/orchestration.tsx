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
        <PendingRequests subject={id} />
        {waiting_for !== undefined && (
          <p class="notice">
            Waiting for {words(waiting_for).toLowerCase()} since <Time at={document.waiting_since} />
            {document.waiting_detail === undefined ? '' : `: ${document.waiting_detail}`}. It expires at{' '}
            <Time at={document.expires_at} exact />.
          </p>
        )}
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

type Run = (values: Values) => Promise<Answer<Schema<'OperatorOrchestration'>>>

function withDestination({ destination }: Schema<'OperatorOrchestration'>, consequence: string) {
  return (
    <>
      <p>{consequence}</p>
      <PlaceFacts of={destination} />
    </>
  )
}

/** An action that is not dangerous moves money again, so it may need a second person. */
function OrchestrationActions({
  orchestration,
  reload,
}: {
  readonly orchestration: Schema<'OperatorOrchestration'>
  readonly reload: () => void
}) {
  const { id, status, gates, version } = orchestration
  const act = (name: string, consequence: string, run: Run, fields?: readonly Field[], isDangerous = false) =>
    ask({
      title: `${name} this orchestration?`,
      consequence: withDestination(orchestration, consequence),
      confirm: name,
      isDangerous,
      ...(isDangerous ? {} : { fourEyes: 'deposits' }),
      ...(fields === undefined ? {} : { fields }),
      run,
      done: () => {
        reload()
        return `${name}: done`
      },
    })
  const offers = (path: string, isPossible: boolean) => isPossible && can(`POST /orchestrations/:id/${path}`)
  return (
    <>
      {offers('reject', gates?.some(({ code }) => code !== 'PAUSED') === true) && (
        <button
          type="button"
          onClick={() =>
            act(
              'Reject',
              "It fails, and the money returns to the profile's balance.",
              ({ reason }) => call('POST', `/orchestrations/${id}/reject`, { reason }),
              [REASON],
              true,
            )
          }
        >
          Reject
        </button>
      )}
      {offers('release', canRelease(gates)) && (
        <button
          type="button"
          class="primary"
          onClick={() =>
            act(
              'Release',
              'It continues once no other gate is closed: it is converted at the current price and delivered.',
              (values) => call('POST', `/orchestrations/${id}/release`, releaseBody(values, version)),
              releaseFields(gates),
            )
          }
        >
          Release
        </button>
      )}
      {offers('retry', status === 'FAILED') && (
        <button
          type="button"
          class="primary"
          onClick={() =>
            act(
              'Retry',
              "A new orchestration with the same terms starts from the profile's balance, at the current price.",
              () => call('POST', `/orchestrations/${id}/retry`, {}),
            )
          }
        >
          Retry
        </button>
      )}
    </>
  )
}
