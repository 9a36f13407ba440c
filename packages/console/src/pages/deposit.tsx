/** One deposit with its whole history and its actions. */
import { words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { Customer } from '../ui/customer.tsx'
import {
  Amount,
  Badge,
  Card,
  Facts,
  Id,
  idFact,
  NotLoaded,
  PageHead,
  ProblemNote,
  Time,
  timeFact,
} from '../ui/parts.tsx'
import { PlaceFacts } from '../ui/place.tsx'
import { Table } from '../ui/table.tsx'
import { DepositActions, paymentOf } from './deposit-actions.tsx'
import { DepositState } from './money.tsx'
import { PendingRequests } from './pending-requests.tsx'
import { Timeline } from './timeline.tsx'

const BACK = { path: '/money/deposits', label: 'Deposits' }

export function DepositPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/deposits/${id}/trace`)
  if (document === undefined) return <NotLoaded title="Deposit" back={BACK} problem={problem} retry={reload} />
  const { deposit, entries } = document
  return (
    <>
      <PageHead
        title={<Amount of={deposit.amount} asset={deposit.asset} />}
        back={BACK}
        lead={
          deposit.customer_id === undefined ? (
            'This deposit belongs to no profile yet'
          ) : (
            <>
              Deposit of <Customer id={deposit.customer_id} />
            </>
          )
        }
      >
        <DepositActions deposit={deposit} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        <DepositFacts deposit={deposit} />
        <Card title="Payment">
          <PlaceFacts of={paymentOf(deposit)} />
        </Card>
        {deposit.corrections !== undefined && <CorrectionsCard corrections={deposit.corrections} />}
        <Timeline entries={entries} name={`deposit-${id}`} />
      </div>
    </>
  )
}

function DepositFacts({ deposit }: { readonly deposit: Schema<'Deposit'> }) {
  const { profile_id } = deposit
  return (
    <Card>
      <Facts
        rows={[
          ['Status', <DepositState key="s" deposit={deposit} />],
          ['Handled', deposit.disposition === undefined ? undefined : words(deposit.disposition.code)],
          ['Reason', deposit.reason],
          ['Confirmations', deposit.confirmations],
          [
            'Profile',
            profile_id === undefined ? (
              <Badge key="p" tone="warn">
                None
              </Badge>
            ) : (
              idFact(profile_id, '/money/profiles')
            ),
          ],
          ['Rule', idFact(deposit.orchestration_rule_id, '/review/rules')],
          ['Orchestration', idFact(deposit.orchestration_id, '/money/orchestrations')],
          ['Return', idFact(deposit.delivery_id, '/money/deliveries')],
          ['Occurred', timeFact(deposit.occurred_at)],
          ['Id', <Id key="i" of={deposit.id} />],
        ]}
      />
    </Card>
  )
}

function CorrectionsCard({ corrections }: { readonly corrections: readonly Schema<'DepositCorrection'>[] }) {
  return (
    <Card title="Corrections" note="what it was before each" flush>
      <Table
        caption="Corrections"
        items={corrections}
        keyOf={({ at }) => at}
        columns={[
          { name: 'Corrected', show: ({ at }) => <Time at={at} exact /> },
          {
            name: 'Amount before',
            isNumber: true,
            show: ({ before: { amount, asset } }) => <Amount of={amount} asset={asset} />,
          },
          {
            name: 'Profile before',
            show: ({ before: { profile_id: id } }) =>
              id === undefined ? 'none' : <Id of={id} to={`/money/profiles/${id}`} />,
          },
          { name: 'Reason', isWide: true, show: ({ reason }) => <span class="break">{reason}</span> },
        ]}
      />
    </Card>
  )
}
