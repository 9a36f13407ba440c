/** One account and the decision about it. */
import { call } from '../../base/api.ts'
import { words } from '../../base/format.ts'
import type { Schema } from '../../base/operator-api.ts'
import { useGet } from '../../base/resource.ts'
import { href } from '../../base/router.ts'
import { can } from '../../base/session.ts'
import { ask } from '../../ui/action-dialog.tsx'
import { Customer } from '../../ui/customer.tsx'
import { Card, Facts, Id, idFact, Json, NotLoaded, PageHead, ProblemNote, Status, timeFact } from '../../ui/parts.tsx'
import { AuditCard } from '../audit.tsx'
import { NotesCard } from '../notes.tsx'
import { PendingRequests } from '../pending-requests.tsx'

const CONSEQUENCES: Readonly<Record<string, string>> = {
  APPROVED: 'Its profile can get deposit addresses and rules, and its deposits are converted.',
  DENIED: 'This is final. Its profile gets no addresses or rules, and its money is neither converted nor sent.',
  ERROR: 'Its profile gets no addresses or rules until it is approved.',
}

const BACK = { path: '/review/accounts', label: 'Accounts' }

export function AccountPage({ id }: { readonly id: string }) {
  const account = useGet(`/accounts/${id}`)
  const { document, problem, reload } = account
  if (document === undefined) return <NotLoaded title="Account" back={BACK} problem={problem} retry={reload} />
  const { identity_id, customer_id, metadata } = document
  return (
    <>
      <PageHead
        title={identity_id}
        back={BACK}
        lead={
          <>
            Account of <Customer id={customer_id} />
          </>
        }
      >
        {can('PATCH /accounts/:id') && <AccountActions account={document} reload={reload} />}
      </PageHead>
      <div class="stack">
        <PendingRequests subject={id} />
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <AccountFacts account={document} />
        <div class="columns">
          <MembersCard members={document.members} />
          <Card title="Customer's metadata">
            {Object.keys(metadata).length === 0 ? <p class="quiet">None.</p> : <Json value={metadata} />}
          </Card>
        </div>
        <NotesCard subject="account" id={id} />
        <AuditCard subject={id} />
        <p>
          <a href={href(`/money/deposits?customer=${customer_id}`)}>This customer's deposits</a>
        </p>
      </div>
    </>
  )
}

function AccountFacts({ account }: { readonly account: Schema<'ReviewedAccount'> }) {
  const disabled = [account.admin_disabled && 'by the operator', account.user_disabled && 'by the customer']
  return (
    <Card>
      <Facts
        rows={[
          ['Status', <Status key="s" of={account.summary_status} />],
          ['Type', words(account.type)],
          ['Id', <Id key="i" of={account.id} />],
          ['Profile', idFact(account.profile_id, '/money/profiles')],
          ["Customer's reference", account.ref_id],
          ['Description', account.description],
          ['Disabled', disabled.filter(Boolean).join(', ') || 'no'],
          ['Created', timeFact(account.created_at)],
          ['Changed', timeFact(account.updated_at)],
        ]}
      />
    </Card>
  )
}

function MembersCard({ members }: { readonly members: readonly Schema<'AccountMember'>[] }) {
  return (
    <Card title="Members">
      {members.length === 0 ? (
        <p class="quiet">None besides the account's identity.</p>
      ) : (
        <ul class="scopes">
          {members.map((member) => (
            <li key={member.id}>
              <span>{member.identity_id}</span>
              <span class="quiet">{member.roles.join(', ').toLowerCase()}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function AccountActions({
  account,
  reload,
}: {
  readonly account: Schema<'ReviewedAccount'>
  readonly reload: () => void
}) {
  const { id, identity_id, summary_status, admin_disabled } = account
  const change = (title: string, consequence: string, confirm: string, body: object, isDangerous: boolean) =>
    ask({
      title,
      consequence: <p>{consequence}</p>,
      confirm,
      isDangerous,
      fourEyes: 'approvals',
      run: () => call('PATCH', `/accounts/${id}`, body),
      done: () => {
        reload()
        return `${identity_id}: done`
      },
    })
  const decide = (status: string, verb: string, isDangerous: boolean) =>
    change(`${verb} ${identity_id}?`, CONSEQUENCES[status] ?? '', verb, { summary_status: status }, isDangerous)
  return (
    <>
      {summary_status !== 'DENIED' && (
        <button
          type="button"
          onClick={() =>
            admin_disabled
              ? change(
                  `Enable ${identity_id} again?`,
                  'Its profile gets addresses and rules again.',
                  'Enable',
                  { admin_disabled: false },
                  false,
                )
              : change(
                  `Disable ${identity_id}?`,
                  'Its profile gets no new addresses or rules, and its money is neither converted nor sent until it is enabled again.',
                  'Disable',
                  { admin_disabled: true },
                  true,
                )
          }
        >
          {admin_disabled ? 'Enable' : 'Disable'}
        </button>
      )}
      {(summary_status === 'PENDING' || summary_status === 'ERROR') && (
        <>
          <button type="button" onClick={() => decide('DENIED', 'Deny', true)}>
            Deny
          </button>
          <button type="button" class="primary" onClick={() => decide('APPROVED', 'Approve', false)}>
            Approve
          </button>
        </>
      )}
    </>
  )
}
