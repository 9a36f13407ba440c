/** One request that needs a second person. */
import { type Answer, call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can, session } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Card, Facts, Id, Json, NotLoaded, PageHead, Status, timeFact } from '../ui/parts.tsx'

/** Pages of the records that requests are about. */
const PAGES: Readonly<Record<string, string>> = {
  accounts: '/review/accounts',
  rules: '/review/rules',
  deliveries: '/money/deliveries',
  deposits: '/money/deposits',
}

const BACK = { path: '/review/requests', label: 'Four eyes' }

export function ChangeRequestPage({ id }: { readonly id: string }) {
  const { document, problem, reload } = useGet(`/change-requests/${id}`)
  if (document === undefined) return <NotLoaded title="Request" back={BACK} problem={problem} retry={reload} />
  const { summary, status, requested_by, call: operation, params, subject, body } = document
  const path = operation.replace(/:(\w+)/g, (name, parameter: string) => params[parameter] ?? name)
  const isOwn = requested_by.replace('operator:', '') === session.value?.operator.name
  const page = PAGES[operation.split('/')[1] ?? '']
  const decide = (verb: 'confirm' | 'decline') => askDecision(document, verb, isOwn, reload)
  return (
    <>
      <PageHead title={summary} back={BACK} lead={`Requested by ${requested_by.replace('operator:', '')}`}>
        {status === 'PENDING' && can('POST /change-requests/:id/decline') && (
          <button type="button" onClick={() => decide('decline')}>
            {isOwn ? 'Withdraw' : 'Decline'}
          </button>
        )}
        {status === 'PENDING' && !isOwn && can('POST /change-requests/:id/confirm') && (
          <button type="button" class="primary" onClick={() => decide('confirm')}>
            Confirm
          </button>
        )}
      </PageHead>
      <div class="stack">
        {isOwn && status === 'PENDING' && <p class="notice">You requested this: another person has to confirm it.</p>}
        <Card>
          <Facts
            rows={[
              ['Status', <Status key="s" of={status} />],
              ['Comment', document.comment],
              ['Record', page === undefined ? subject : <Id key="r" of={subject} to={`${page}/${subject}`} />],
              ['Requested', timeFact(document.created_at)],
              ['Expires', timeFact(document.expires_at)],
              ['Decided by', document.decided_by?.replace('operator:', '')],
              ['Decided', timeFact(document.decided_at)],
              ['Result', document.detail],
            ]}
          />
        </Card>
        <Card title="The change">
          <p class="mono quiet request-call">{path}</p>
          <Json value={body ?? {}} />
        </Card>
        {document.record !== undefined && (
          <Card title="The record, as it was seen">
            <Json value={document.record} />
          </Card>
        )}
        {document.changes !== undefined && document.changes.length > 0 && (
          <Card title="What has changed since">
            <Json value={document.changes} />
          </Card>
        )}
        <p>
          <a href={href(`/audit?subject=${subject}`)}>Audit of the record</a>
        </p>
      </div>
    </>
  )
}

function askDecision(
  { id, summary, version = '' }: Schema<'ChangeRequestWithRecord'>,
  verb: 'confirm' | 'decline',
  isOwn: boolean,
  reload: () => void,
): void {
  const name = verb === 'confirm' ? 'Confirm' : isOwn ? 'Withdraw' : 'Decline'
  ask({
    title: isOwn ? 'Withdraw this request?' : `${name}: ${summary.toLowerCase()}?`,
    consequence: (
      <p>
        {verb === 'confirm'
          ? 'It is carried out at once, in your name, with the values that you see.'
          : 'Nothing is changed.'}
      </p>
    ),
    confirm: name,
    isDangerous: verb === 'decline',
    run: (): Promise<Answer<unknown>> =>
      verb === 'confirm'
        ? call('POST', `/change-requests/${id}/confirm`, { version })
        : call('POST', `/change-requests/${id}/decline`, {}),
    done: () => {
      reload()
      return verb === 'confirm' ? 'Confirmed and carried out' : isOwn ? 'Withdrawn' : 'Declined'
    },
  })
}
