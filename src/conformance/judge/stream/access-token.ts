/** Access tokens for checks, by the client credentials grant: the secret travels in the form body only. */
import type { Clock } from '../../../platform/base/clock.ts'
import { membersOf } from '../../../platform/base/json-value.ts'
import { withDeadline } from '../../../platform/base/time-limit.ts'

/** A client's id and secret. The address has no trailing slash. */
export interface TokenCredentials {
  readonly client_id: string
  readonly client_secret: string
  /** The token endpoint's base address. */
  readonly auth_url: string
}

/** Why there is no token. The reason contains no secret. */
interface Refusal {
  readonly reason: string
  /** Absent: no answer arrived. */
  readonly status?: number
  readonly retryAfter: string | null
}

interface TokenRequest {
  readonly credentials: TokenCredentials
  readonly scope: string
  readonly clock: Clock
  readonly stop: AbortSignal
}

const ANSWER_MILLISECONDS_MAX = 10_000

export async function fetchToken({ credentials, scope, clock, stop }: TokenRequest): Promise<string | Refusal> {
  const { auth_url, client_id, client_secret } = credentials
  const url = `${auth_url}/oauth2/token`
  const form = { grant_type: 'client_credentials', client_id, client_secret, scope }
  const late = () => new Error(`no answer within ${ANSWER_MILLISECONDS_MAX / 1_000} s`)
  let response: Response
  let answer: Readonly<Record<string, unknown>>
  try {
    const deadline = { clock, milliseconds: ANSWER_MILLISECONDS_MAX, stop, late }
    ;[response, answer] = await withDeadline(deadline, async (signal) => {
      const reply = await fetch(url, { method: 'POST', body: new URLSearchParams(form), redirect: 'error', signal })
      // Any answer but a JSON object counts as an empty one: the status is sufficient.
      return [reply, membersOf(await reply.json().catch(() => undefined))]
    })
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const { code, message } = cause as NodeJS.ErrnoException
    return { reason: `cannot reach ${url}: ${typeof code === 'string' ? code : message}`, retryAfter: null }
  }
  const { status, headers } = response
  if (response.ok && typeof answer.access_token === 'string') return answer.access_token
  const { error = 'no token', error_description: description } = answer
  const reason = `${url} answered ${status}: ${error}${description === undefined ? '' : `, ${description}`}`
  return { reason, status, retryAfter: headers.get('retry-after') }
}
