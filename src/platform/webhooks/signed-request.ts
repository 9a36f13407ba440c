/** Sends one signed webhook request. */
import type { Agent } from 'node:http'
import { postWebhook, type RequestTools, type WebhookReply } from './request.ts'
import { type SignedMessage, signatureHeaders } from './signature.ts'

/** An endpoint as it is now. */
export interface WebhookEndpoint {
  /** Empty: nothing is sent. */
  readonly url: string
  readonly secrets: readonly string[]
  /** Whether private and special addresses are accepted. */
  readonly allowPrivate: boolean
  /** The endpoint is a customer's, and not from the settings. */
  readonly isCustomers?: true
  /** Keeps connections for the next requests. */
  readonly agent?: Agent
}

/** Every attempt is signed with its own time. */
export async function postSigned(
  { secrets, ...address }: WebhookEndpoint,
  { id, body }: Pick<SignedMessage, 'id' | 'body'>,
  tools: RequestTools,
): Promise<WebhookReply> {
  const timestamp = Math.floor(tools.clock.wallInstant().milliseconds / 1000)
  const headers = signatureHeaders({ id, timestamp, body }, secrets)
  return await postWebhook({ ...address, headers, body }, tools)
}
