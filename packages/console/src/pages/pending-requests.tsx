/** On a record's page: its changes waiting for a second person. */
import { getPage } from '../base/api.ts'
import { useResource } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { requestsMade } from '../ui/action-dialog.tsx'
import { ProblemNote, Time } from '../ui/parts.tsx'

export function PendingRequests({ subject }: { readonly subject: string }) {
  const key = can('GET /change-requests') ? `${subject} ${requestsMade.value}` : undefined
  const { document, problem, reload } = useResource(key, (signal) =>
    getPage('/change-requests', { subject, status: 'PENDING' }, signal),
  )
  return (
    <>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document?.items.map(({ id, summary, requested_by, created_at }) => (
        <p key={id} class="notice">
          <a href={href(`/review/requests/${id}`)}>{summary}</a> waits for a second person: requested by{' '}
          {requested_by.replace('operator:', '')} <Time at={created_at} />.
        </p>
      ))}
    </>
  )
}
