/** One rule, and the decision about it. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Customer } from '../ui/customer.tsx'
import { Card, Facts, Id, NotLoaded, PageHead, Status, Time } from '../ui/parts.tsx'
import { AuditCard } from './audit.tsx'
import { NotesCard } from './notes.tsx'
import { routeText, type Terms } from './rule-text.ts'

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
            Rule of <Customer id={customer_id} />: {routeText(document)}
          </>
        }
      >
        <RuleActions rule={document} reload={reload} />
      </PageHead>
      <div class="stack">
        <Card>
          <Facts
            rows={[
              ['Status', <Status key="s" of={status} />],
              ['Reason of the rejection', document.reject_reason],
              ['Id', <Id key="i" of={document.id} />],
              ['Reference of the customer', ref_id],
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
          <TermsCard title={`Deposits of ${document.source_asset}`} terms={source} />
          <TermsCard title={`Become ${document.destination_asset}, sent to`} terms={destination} />
        </div>
        <NotesCard subject="rule" id={id} />
        <AuditCard subject={id} />
      </div>
    </>
  )
}

function TermsCard({ title, terms }: { readonly title: string; readonly terms: Terms }) {
  const rows = Object.entries(terms).flatMap(([form, members = {}]) => [
    ['Form', form] as const,
    ...Object.entries(members).map(
      ([name, value]) =>
        [
          name.replaceAll('_', ' '),
          <span key={name} class="mono break">
            {value}
          </span>,
        ] as const,
    ),
  ])
  return (
    <Card title={title}>
      <Facts rows={rows} />
    </Card>
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
          <p>{routeText(rule)}</p>
          <p>
            It applies at once: deposits that match it are converted and sent without another question. Check the
            destination.
          </p>
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
      consequence: <p>This is final; the customer can create another rule. The customer sees the reason.</p>,
      confirm: 'Reject',
      isDangerous: true,
      fields: [{ name: 'reason', label: 'Reason', kind: 'long' }],
      run: ({ reason }) => call('POST', `/rules/${id}/reject`, { reason }),
      done: done('The rule was rejected'),
    })
  const remove = () =>
    ask({
      title: `Delete ${name}?`,
      consequence: <p>This is final. Deposits that would have matched it are credited and not converted.</p>,
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
