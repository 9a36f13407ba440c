/** One deposit with its whole history, and the actions on it. */
import { words } from '../base/format.ts'
import { useGet } from '../base/resource.ts'
import { Customer } from '../ui/customer.tsx'
import { Amount, Badge, Card, Facts, Id, Loading, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { DepositActions } from './deposit-actions.tsx'
import { DepositState } from './money.tsx'
import { Timeline } from './timeline.tsx'

export function DepositPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/deposits/${id}/trace`)
  if (document === undefined)
    return problem === undefined ? <Loading /> : <ProblemNote problem={problem} retry={reload} />
  const { deposit, entries } = document
  const { crypto, fiat } = deposit
  return (
    <>
      <PageHead
        title={<Amount of={deposit.amount} asset={deposit.asset} />}
        back={{ path: '/money/deposits', label: 'Deposits' }}
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
        <Card>
          <Facts
            rows={[
              ['Status', <DepositState key="s" deposit={deposit} />],
              ['Handled', deposit.disposition === undefined ? undefined : words(deposit.disposition.code)],
              ['Reason', deposit.reason],
              ['Network', words(crypto?.network ?? fiat?.network ?? '')],
              [
                'Address',
                crypto === undefined ? undefined : (
                  <span key="a" class="mono break">
                    {crypto.address}
                  </span>
                ),
              ],
              [
                'Transaction',
                crypto === undefined ? undefined : (
                  <span key="t">
                    <Id of={crypto.tx_hash} /> output {crypto.tx_index}
                  </span>
                ),
              ],
              ['Confirmations', deposit.confirmations],
              ['Memo', fiat?.memo_id],
              ['Remittance', fiat?.remittance],
              ['Bank reference', fiat?.bank_reference],
              ['Sender', fiat?.sender],
              [
                'Profile',
                deposit.profile_id === undefined ? (
                  <Badge key="p" tone="warn">
                    None
                  </Badge>
                ) : (
                  <Id key="p" of={deposit.profile_id} to={`/money/profiles/${deposit.profile_id}`} />
                ),
              ],
              [
                'Rule',
                deposit.orchestration_rule_id === undefined ? undefined : (
                  <Id
                    key="r"
                    of={deposit.orchestration_rule_id}
                    to={`/review/rules/${deposit.orchestration_rule_id}`}
                  />
                ),
              ],
              [
                'Orchestration',
                deposit.orchestration_id === undefined ? undefined : (
                  <Id key="o" of={deposit.orchestration_id} to={`/money/orchestrations/${deposit.orchestration_id}`} />
                ),
              ],
              [
                'Return',
                deposit.delivery_id === undefined ? undefined : (
                  <Id key="d" of={deposit.delivery_id} to={`/money/deliveries/${deposit.delivery_id}`} />
                ),
              ],
              ['Occurred', <Time key="c" at={deposit.occurred_at} exact />],
              ['Id', <Id key="i" of={deposit.id} />],
            ]}
          />
        </Card>
        <Timeline entries={entries} name={`deposit-${id}`} />
      </div>
    </>
  )
}
