/** One delivery with its attempts, and the dialogs to report its result. */
import { call } from '../base/api.ts'
import { grouped, words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask, type Field } from '../ui/action-dialog.tsx'
import { Customer } from '../ui/customer.tsx'
import {
  Amount,
  Card,
  Empty,
  Facts,
  failureFact,
  Id,
  idFact,
  NotLoaded,
  PageHead,
  ProblemNote,
  Status,
  Time,
  timeFact,
} from '../ui/parts.tsx'
import { PlaceFacts } from '../ui/place.tsx'
import { Table } from '../ui/table.tsx'
import { AuditCard } from './audit.tsx'
import { LEASE_SECONDS } from './money.tsx'
import { PendingRequests } from './pending-requests.tsx'

const BACK = { path: '/money/deliveries', label: 'Deliveries' }

export function DeliveryPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/deliveries/${id}`)
  if (document === undefined) return <NotLoaded title="Delivery" back={BACK} problem={problem} retry={reload} />
  const { amount, asset, status } = document
  return (
    <>
      <PageHead
        title={<Amount of={amount} asset={asset} />}
        back={BACK}
        lead={
          <>
            Delivery of <Customer id={document.customer_id} />
          </>
        }
      >
        <DeliveryActions delivery={document} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        {status === 'NEEDS_OPERATOR' && (
          <p class="notice">
            It is not known whether this was paid. Look it up in your custody or bank by its id, then settle or fail it.
            It is never paid back automatically.
          </p>
        )}
        {status === 'WAITING' && can('POST /deliveries/:id/claim') && (
          <p class="notice">
            It waits for an executor. To pay it by hand, claim it first, so that no executor pays it too.
          </p>
        )}
        <Card title="Paid to">
          <PlaceFacts of={document.destination} isFirst={document.first_to_destination} />
        </Card>
        <DeliveryFacts delivery={document} />
        <AttemptsCard attempts={document.attempts} />
        <AuditCard subject={id} />
      </div>
    </>
  )
}

function DeliveryFacts({ delivery }: { readonly delivery: Schema<'DeliveryWithAttempts'> }) {
  const { asset, fee, waiting_for, waiting_detail = '' } = delivery
  return (
    <Card>
      <Facts
        rows={[
          ['Status', <Status key="s" of={delivery.status} />],
          ['Why it failed', failureFact(delivery.fail_reason)],
          ['Waits for', waiting_for === undefined ? undefined : `${words(waiting_for)} ${waiting_detail}`],
          ['Payment reference', delivery.reference],
          ['Fee', fee === undefined ? undefined : <Amount key="f" of={fee} asset={asset} />],
          ['Executor', delivery.executor],
          ['Claimed until', timeFact(delivery.lease_until)],
          ['Next attempt', timeFact(delivery.next_attempt_at)],
          ['Orchestration', idFact(delivery.orchestration_id, '/money/orchestrations')],
          ['Deposit', idFact(delivery.deposit_id, '/money/deposits')],
          ['Profile', idFact(delivery.profile_id, '/money/profiles')],
          ['Created', timeFact(delivery.created_at)],
          ['Id', <Id key="i" of={delivery.id} />],
        ]}
      />
    </Card>
  )
}

function AttemptsCard({ attempts }: { readonly attempts: readonly Schema<'DeliveryAttempt'>[] }) {
  return (
    <Card title="Attempts" flush>
      {attempts.length === 0 ? (
        <Empty title="Not claimed yet">An executor claims it, pays it and reports the result.</Empty>
      ) : (
        <Table
          caption="Attempts"
          items={attempts}
          keyOf={({ attempt }) => String(attempt)}
          columns={[
            { name: 'Attempt', isNumber: true, show: ({ attempt }) => attempt },
            { name: 'Executor', show: ({ executor }) => executor },
            {
              name: 'Outcome',
              show: ({ outcome }) => (outcome === 'STARTED' ? 'not known yet' : words(outcome)),
            },
            { name: 'Detail', isWide: true, show: ({ detail }) => detail ?? '' },
            {
              name: 'Started',
              show: ({ started_at }) => <Time at={started_at} exact />,
            },
            { name: 'Ended', show: ({ ended_at }) => <Time at={ended_at} exact /> },
          ]}
        />
      )}
    </Card>
  )
}

/** Hands the delivery to the person, who pays it by hand. */
function askClaim(delivery: Schema<'DeliveryWithAttempts'>, reload: () => void): void {
  const { id, amount, asset, destination, first_to_destination } = delivery
  ask({
    title: `Claim ${grouped(amount)} ${asset}?`,
    consequence: (
      <>
        <p>
          It is yours for one hour: pay it by hand to this destination, then settle it with the payment reference, or
          fail it. No executor pays it meanwhile. After the hour others may claim it: look it up before you pay late.
        </p>
        <PlaceFacts of={destination} isFirst={first_to_destination} />
      </>
    ),
    confirm: 'Claim',
    run: () => call('POST', `/deliveries/${id}/claim`, { lease_seconds: LEASE_SECONDS }),
    done: () => {
      reload()
      return 'It is yours for one hour'
    },
  })
}

function askSettlement(delivery: Schema<'DeliveryWithAttempts'>, reload: () => void): void {
  const { id, status, amount, asset, attempt, destination, first_to_destination } = delivery
  const isFailed = status === 'FAILED'
  const isWaiting = status === 'WAITING'
  ask({
    title: `Settle ${grouped(amount)} ${asset}?`,
    consequence: (
      <>
        <p>
          You report that {grouped(amount)} {asset} were paid to this destination. The customer sees the payment as
          completed. This cannot be undone.
        </p>
        <PlaceFacts of={destination} isFirst={first_to_destination} />
        {isFailed && (
          <p>
            The delivery is FAILED and its money was given back: settling it takes the money from the profile again.
          </p>
        )}
        {isWaiting && (
          <p>
            It was not handed out by this store. Only one that was paid before the store was restored is settled so,
            while deliveries are paused.
          </p>
        )}
      </>
    ),
    confirm: 'Settle',
    fourEyes: 'settlements',
    fields: [
      {
        name: 'reference',
        label: 'Payment reference',
        hint: "transaction hash or the bank's id, one per delivery",
      },
      { name: 'fee', label: `Fee in ${asset}`, isOptional: true, hint: 'what the payment cost' },
    ],
    run: ({ reference, fee }) =>
      call('POST', `/deliveries/${id}/settle`, {
        reference: String(reference).trim(),
        attempt,
        ...(fee === '' ? {} : { fee: String(fee).trim() }),
        ...(isFailed ? { late: true } : {}),
      }),
    done: () => {
      reload()
      return 'The delivery is settled'
    },
  })
}

const NOT_PAID: Field = {
  name: 'not_paid',
  label: 'No attempt was paid, and none will be',
  kind: 'check',
  hint: 'I have asked each executor, or looked it up in the custody or bank by its delivery id',
}

/** Whether its claim is still valid. */
function isRunning({ lease_until }: Schema<'Delivery'>): boolean {
  return lease_until !== undefined && Date.parse(lease_until) > Date.now()
}

/**
 * The attempts whose outcome is unknown. The current attempt is left out while its claim is valid or after its executor
 * accepted it, because the executor reports the result.
 */
function unknownAttempts(delivery: Schema<'DeliveryWithAttempts'>) {
  const { attempts, attempt } = delivery
  return attempts.filter(({ attempt: number, outcome }) => {
    if (outcome === 'REFUSED' || outcome === 'FAILED') return false
    return number !== attempt || (outcome !== 'ACCEPTED' && !(outcome === 'STARTED' && isRunning(delivery)))
  })
}

function askFailure(delivery: Schema<'DeliveryWithAttempts'>, reload: () => void): void {
  const { id, amount, asset, attempt } = delivery
  const unknown = unknownAttempts(delivery)
  ask({
    title: `Fail ${grouped(amount)} ${asset}?`,
    consequence: (
      <>
        <p>
          You report that it was not paid to this destination and will not be. The money returns to the profile: be
          certain, or it can be spent twice.
        </p>
        {unknown.length > 0 && (
          <p>
            <strong>It is not known whether it was paid by </strong>
            {unknown.map(({ attempt, executor }) => `${executor} (attempt ${attempt})`).join(', ')}. Ask there first.
          </p>
        )}
        <PlaceFacts of={delivery.destination} isFirst={delivery.first_to_destination} />
      </>
    ),
    confirm: 'Fail',
    isDangerous: true,
    fourEyes: 'settlements',
    fields: (refusal) => [
      ...(unknown.length > 0 || refusal === 'earlier_attempt_unknown' ? [NOT_PAID] : []),
      { name: 'reason', label: 'Reason', kind: 'long', hint: 'the customer sees it' },
    ],
    run: ({ reason, not_paid }) =>
      call('POST', `/deliveries/${id}/fail`, {
        reason,
        attempt,
        ...(not_paid === true ? { earlier_attempts: 'not_paid' } : {}),
      }),
    done: () => {
      reload()
      return 'The delivery has failed, and the money is back'
    },
  })
}

function DeliveryActions({
  delivery,
  reload,
}: {
  readonly delivery: Schema<'DeliveryWithAttempts'>
  readonly reload: () => void
}) {
  const { status, channel } = delivery
  const isFailed = status === 'FAILED'
  // One that was sent to the webhook is sent there again.
  const isFree = status === 'WAITING' || (status === 'CLAIMED' && channel === 'manual' && !isRunning(delivery))
  return (
    <>
      {isFree && can('POST /deliveries/:id/claim') && (
        <button type="button" class="primary" onClick={() => askClaim(delivery, reload)}>
          Claim
        </button>
      )}
      {!isFailed && status !== 'SETTLED' && can('POST /deliveries/:id/fail') && (
        <button type="button" onClick={() => askFailure(delivery, reload)}>
          Fail
        </button>
      )}
      {status !== 'SETTLED' && can('POST /deliveries/:id/settle') && (
        <button
          type="button"
          class={isFailed || status === 'WAITING' ? '' : 'primary'}
          onClick={() => askSettlement(delivery, reload)}
        >
          {isFailed ? 'Settle late' : 'Settle'}
        </button>
      )}
    </>
  )
}
