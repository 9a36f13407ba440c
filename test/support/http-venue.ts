/** A venue's HTTP API with the responses specified by a test, for the test's duration. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface HttpVenue {
  readonly url: string
  /** The requested URLs. */
  readonly asked: readonly string[]
}

/** A refusal for too many requests names seven seconds to wait. */
export async function serveHttp(answer: (url: URL) => [status: number, body: string]): Promise<HttpVenue> {
  const asked: string[] = []
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    asked.push(request.url as string)
    const [status, body] = answer(new URL(request.url as string, 'http://localhost'))
    response.writeHead(status, status === 429 ? { 'retry-after': '7' } : {}).end(body)
  })
  // The client may reuse a connection at the moment the server closes it for idleness, which would lose the request.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
