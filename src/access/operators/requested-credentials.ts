/**
 * The credentials issued by calls under four eyes. The requesting operator gets the secret with the answer to the
 * request, and the store its hash. It is not valid before the call is confirmed. The confirming operator never sees the
 * secret: with it one person could act in another's name, or report payments as a machine, alone.
 */
import { type CallIssue, isMachineRole, OPERATOR_CALLS, type OperatorCallRow } from '../../contract/operator-calls.ts'
import { assert } from '../../platform/base/assert.ts'
import type { Confirmation } from '../clients/operator-calls.ts'
import { API_TOKEN_PREFIX } from './api-tokens.ts'
import type { OwnCall } from './own-calls.ts'
import { hashRandomSecret, newRandomSecret } from './random-secrets.ts'

export interface NewCredential {
  readonly secret: string
  readonly hash: Buffer
}

const PREFIXES: Readonly<Record<CallIssue, string>> = { token: API_TOKEN_PREFIX, setup_link: 'tgl_' }

export function newCredential(kind: CallIssue): NewCredential {
  const secret = newRandomSecret(PREFIXES[kind])
  return { secret, hash: hashRandomSecret(secret) }
}

/** What a call with this body issues. */
export function issueOf({ call, body = {} }: OwnCall): CallIssue | undefined {
  const { issues }: OperatorCallRow = OPERATOR_CALLS[call]
  // A machine, and an operator who signs in at an issuer, need no link.
  const needsNone = call === 'POST /operators' && (body.subject !== undefined || isMachineRole(String(body.role)))
  return needsNone ? undefined : issues
}

/** The credential that a call issues: a new one, or the one whose secret a confirmed call's requester has. */
export function issuedCredential(
  kind: CallIssue,
  confirmation: Confirmation | undefined,
): Partial<NewCredential> & Pick<NewCredential, 'hash'> {
  if (confirmation === undefined) return newCredential(kind)
  const { credentialHash: hash } = confirmation
  assert(hash !== undefined, 'a request for a credential keeps its hash')
  return { hash }
}
