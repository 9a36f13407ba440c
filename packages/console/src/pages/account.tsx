/** One account, and the decision about it. */
import { call } from '../base/api.ts'
import { words } from '../base/format.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Customer } from '../ui/customer.tsx'
import { Card, Facts, Id, Json, Loading, PageHead, ProblemNote, Status, Time } from '../ui/parts.tsx'
import { AuditCard } from './audit.tsx'
import { NotesCard } from './notes.tsx'

const CONSEQUENCES: Readonly<Record<string, string>> = {
  APPROVED: 'Its profile can get deposit addresses and rules, and its deposits are converted.',
  DENIED: 'This is final. Its profile gets no addresses and rules; its money is neither converted nor sent.',
  ERROR: 'Its profile gets no addresses and rules until it is approved.',
}

export function AccountPage({ id }: { readonly id: string }) {
  const account = useGet(`/accounts/${id}`)
  const { document, problem, reload } = account
  if (document === undefined)
    return problem === undefined ? <Loading /> : <ProblemNote problem={problem} retry={reload} />
  const { summary_status, identity_id, customer_id, metadata, members } = document
  return (
    <>
      <PageHead
        title={identity_id}
        back={{ path: '/review', label: 'Accounts' }}
        lead={
          <>
            Account of <Customer id={customer_id} />
          </>
        }
      >
        {can('PATCH /accounts/:id') && <AccountActions account={document} reload={reload} />}
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <Card>
          <Facts
            rows={[
              ['Status', <Status key="s" of={summary_status} />],
              ['Type', words(document.type)],
              ['Id', <Id key="i" of={document.id} />],
              [
                'Profile',
                document.profile_id === undefined ? undefined : (
                  <Id key="p" of={document.profile_id} to={`/money/profiles/${document.profile_id}`} />
                ),
              ],
              ['Reference of the customer', document.ref_id],
              ['Description', document.description],
              [
                'Disabled',
                [document.admin_disabled && 'by the operator', document.user_disabled && 'by the customer']
                  .filter(Boolean)
                  .join(', ') || 'no',
              ],
              ['Created', <Time key="c" at={document.created_at} exact />],
              ['Changed', <Time key="u" at={document.updated_at} exact />],
            ]}
          />
        </Card>
        <div class="columns">
          <Card title="Members">
            {members.length === 0 ? (
              <p class="quiet">None besides the identity of the account.</p>
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
          <Card title="Metadata of the customer">
            {Object.keys(metadata).length === 0 ? <p class="quiet">None.</p> : <Json value={metadata} />}
          </Card>
        </div>
        <NotesCard subject="account" id={id} />
        <AuditCard subject={id} />
        <p>
          <a href={href(`/money/deposits?customer=${customer_id}`)}>Deposits of this customer</a>
        </p>
      </div>
    </>
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
                  'Its profile gets no new addresses and rules, and its money is neither converted nor sent until it is enabled again.',
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
