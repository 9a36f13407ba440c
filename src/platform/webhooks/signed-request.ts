/** Sends one signed webhook request to an endpoint from the settings. */
import { postWebhook, type RequestTools, type WebhookReply } from './request.ts'
import { type SignedMessage, signatureHeaders } from './signature.ts'

/** An endpoint's current settings. */
export interface WebhookEndpoint {
  /** Empty: nothing is sent. */
  readonly url: string
  readonly secrets: readonly string[]
  /** Whether private and special addresses are accepted. */
  readonly allowPrivate: boolean
}

/** Every attempt is signed with its own time. */
export async function postSigned(
  { url, secrets, allowPrivate }: WebhookEndpoint,
  { id, body }: Pick<SignedMessage, 'id' | 'body'>,
  tools: RequestTools,
): Promise<WebhookReply> {
  const timestamp = Math.floor(tools.clock.wallInstant().milliseconds / 1000)
  const headers = signatureHeaders({ id, timestamp, body }, secrets)
  return await postWebhook({ url, headers, body, allowPrivate }, tools)
}
