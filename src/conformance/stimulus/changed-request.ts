/** A webhook's request as the service sends it, with the changes of a check. */
import type { Clock } from '../../platform/base/clock.ts'
import { signatureHeaders } from '../../platform/webhooks/signature.ts'
import type { Change, Sent } from '../judge/signed-request.ts'

export function changedRequest(
  { id, body }: Sent,
  change: Change,
  own: { readonly secrets: readonly string[]; readonly clock: Clock },
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const { secrets = own.secrets, ageSeconds = 0, sentBody = body, headers: adapt = (headers) => headers } = change
  const timestamp = Math.floor(own.clock.wallInstant().milliseconds / 1000) - ageSeconds
  return { headers: adapt(signatureHeaders({ id, timestamp, body }, secrets)), body: sentBody }
}
