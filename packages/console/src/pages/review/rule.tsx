/** One rule and the decision about it. */
import { call } from '../../base/api.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useGet } from '../../base/resource.ts'
import { can } from '../../base/session.ts'
import { ask } from '../../ui/action-dialog.tsx'
import { Customer } from '../../ui/customer.tsx'
import { Card, Facts, Id, NotLoaded, PageHead, ProblemNote, Status, Time } from '../../ui/parts.tsx'
import { PlaceFacts } from '../../ui/place.tsx'
import { AuditCard } from '../audit.tsx'
import { NotesCard } from '../notes.tsx'
import { PendingRequests } from '../pending-requests.tsx'

const BACK = { path: '/review/rules', label: 'Rules' }

export function RulePage({ id }: { readonly id: string }) {
  const rule = useGet(`/rules/${id}`)
  const { document, problem, reload } = rule
  if (document === undefined) return <NotLoaded title="Rule" back={BACK} problem={problem} retry={reload} />
  const { status, nickname, ref_id, customer_id, source, destination } = document
  return (
    <>
      <PageHead
        title={nickname ?? ref_id}
        back={BACK}
        lead={
          <>
            Rule of <Customer id={customer_id} />: {document.source_asset} becomes {document.destination_asset}
          </>
        }
      >
        <RuleActions rule={document} reload={reload} />
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        <Card>
          <Facts
            rows={[
              ['Status', <Status key="s" of={status} />],
              ['Reason for the rejection', document.reject_reason],
              ['Id', <Id key="i" of={document.id} />],
              ["Customer's reference", ref_id],
              ['Profile', <Id key="p" of={document.profile_id} to={`/money/profiles/${document.profile_id}`} />],
              [
                'Account',
                document.account_id === undefined ? undefined : (
                  <Id key="a" of={document.account_id} to={`/review/accounts/${document.account_id}`} />
                ),
              ],
              ['Created', <Time key="c" at={document.created_at} exact />],
            ]}
          />
        </Card>
        <div class="columns">
          <Card title={`Deposits of ${document.source_asset}`}>
            <PlaceFacts of={source} />
          </Card>
          <Card title={`Become ${document.destination_asset}, sent to`}>
            <PlaceFacts of={destination} />
          </Card>
        </div>
        <NotesCard subject="rule" id={id} />
        <AuditCard subject={id} />
      </div>
    </>
  )
}

function withDestination({ destination }: Pick<Schema<'OperatorRule'>, 'destination'>, consequence: string) {
  return (
    <>
      <p>{consequence}</p>
      <PlaceFacts of={destination} />
    </>
  )
}

function RuleActions({ rule, reload }: { readonly rule: Schema<'OperatorRule'>; readonly reload: () => void }) {
  const { id, status, ref_id } = rule
  const name = rule.nickname ?? ref_id
  const done = (text: string) => () => {
    reload()
    return text
  }
  const approve = () =>
    ask({
      title: `Approve ${name}?`,
      consequence: (
        <>
          <p>
            It applies at once: deposits of {rule.source_asset} that match it become {rule.destination_asset} and are
            sent without another question. Compare the whole destination with what the customer has confirmed:
          </p>
          <PlaceFacts of={rule.destination} />
        </>
      ),
      confirm: 'Approve',
      fourEyes: 'approvals',
      run: () => call('POST', `/rules/${id}/approve`, {}),
      done: done('The rule is active'),
    })
  const reject = () =>
    ask({
      title: `Reject ${name}?`,
      consequence: withDestination(
        rule,
        'This is final, but the customer can create another rule. The customer sees the reason.',
      ),
      confirm: 'Reject',
      isDangerous: true,
      fields: [{ name: 'reason', label: 'Reason', kind: 'long' }],
      run: ({ reason }) => call('POST', `/rules/${id}/reject`, { reason }),
      done: done('The rule was rejected'),
    })
  const remove = () =>
    ask({
      title: `Delete ${name}?`,
      consequence: withDestination(
        rule,
        'This is final. Deposits that would have matched it are credited but not converted.',
      ),
      confirm: 'Delete',
      isDangerous: true,
      run: () => call('POST', `/rules/${id}/delete`, {}),
      done: done('The rule was deleted'),
    })
  return (
    <>
      {(status === 'ACTIVE' || status === 'PENDING') && can('POST /rules/:id/delete') && (
        <button type="button" onClick={remove}>
          Delete
        </button>
      )}
      {status === 'PENDING' && can('POST /rules/:id/reject') && (
        <button type="button" onClick={reject}>
          Reject
        </button>
      )}
      {status === 'PENDING' && can('POST /rules/:id/approve') && (
        <button type="button" class="primary" onClick={approve}>
          Approve
        </button>
      )}
    </>
  )
}
