/**
 * The parties in a requested call's body: people's names and addresses. They are stored encrypted with their request (an
 * earlier version's are not), and shown and carried out by the request alone: lists and the audit trail leave them out,
 * and have an empty object in their place.
 */
import { isObject, type JsonObject } from '../../platform/base/json-value.ts'
import { Problem } from '../../platform/http/problem.ts'
import { type EncryptionKey, EncryptionKeyProblem } from '../clients/encryption-key.ts'

type Key = EncryptionKey | undefined

/** The body as it is stored. Throws 503 for parties without a key. */
export function sealedBody(body: JsonObject, requestId: string, key: Key): JsonObject {
  return withParties(body, (parties) => {
    if (key === undefined) throw keyMissing('cannot store parties')
    return { sealed: key.encrypt(Buffer.from(JSON.stringify(parties)), rowOf(requestId)) }
  })
}

/** The stored body as it was sent. Throws 503 without the key with which its parties were encrypted. */
export function openedBody(body: JsonObject, requestId: string, key: Key): JsonObject {
  return withParties(body, (parties) => {
    // An earlier version stored them as they were sent.
    if (!isObject(parties) || typeof parties.sealed !== 'string') return parties
    if (key === undefined) throw keyMissing('cannot read parties')
    try {
      return JSON.parse(key.decrypt(parties.sealed, rowOf(requestId)).toString())
    } catch (error) {
      if (error instanceof EncryptionKeyProblem) throw keyMissing('cannot read parties, encrypted with another key')
      throw error
    }
  })
}

/** The stored body as it was sent. Undefined without the key with which its parties were encrypted. */
export function readableBody(body: JsonObject, requestId: string, key: Key): JsonObject | undefined {
  try {
    return openedBody(body, requestId, key)
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

export function withoutParties(body: JsonObject): JsonObject {
  return withParties(body, () => ({}))
}

/** Replaces the parties of a body, and of each report in a batch. */
function withParties(body: JsonObject, replace: (parties: unknown) => unknown): JsonObject {
  const { deposits } = body
  return {
    ...body,
    ...(Object.hasOwn(body, 'parties') ? { parties: replace(body.parties) } : {}),
    ...(Array.isArray(deposits)
      ? { deposits: deposits.map((each: unknown) => (isObject(each) ? withParties(each, replace) : each)) }
      : {}),
  }
}

function rowOf(requestId: string): string {
  return `change_requests.body/${requestId}`
}

function keyMissing(what: string): Problem {
  return new Problem('encryption_key_missing', `this process ${what}: the operator must set keys.encryption_key`)
}
