/** Clients of a node that has not created them itself. */
import { expect } from 'vitest'
import { HandshakeRefused, SampleClient } from './sample-client.ts'

/** Connects as soon as the node knows the client, which it learns a moment after another node has created it. */
export async function connectOnceKnown(wsUrl: string, token: string): Promise<SampleClient> {
  let client: SampleClient | undefined
  const attempt = async () => {
    client = await SampleClient.connect({ wsUrl, token }).catch((error: unknown) => {
      if (error instanceof HandshakeRefused && error.body.includes('"disabled"')) return undefined
      throw error
    })
    return client
  }
  await expect.poll(attempt).toBeDefined()
  return client as unknown as SampleClient
}
