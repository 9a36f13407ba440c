/** Which events a stream connection may follow, by the current directory. Pure. */
import type { Scope } from '../../contract/scopes.ts'
import type { AccessToken } from '../clients/access-token.ts'
import type { Directory } from '../clients/directory.ts'

export const EVENT_SCOPE: Scope = 'events:read_event'

/**
 * The scopes by which a connection sees events. Undefined: it may follow none, because its token or its client does not
 * have the scope. A token may have few scopes, so its client's decide which objects are read.
 */
export function eventScopes(directory: Directory, token: AccessToken): ReadonlySet<string> | undefined {
  const client = directory.clientOf(token)
  const has = (scope: string) => token.scopes.has(scope) && client?.scopes.has(scope as Scope) !== false
  if (!has(EVENT_SCOPE)) return undefined
  if (token.outsideClientName === undefined) return client?.scopes
  return new Set([...token.scopes].filter(has))
}
