/**
 * The public listener: what customers reach. The token endpoint, and at `/` the stream, whose upgrades are handed to
 * the gateway; a plain request to `/` is told what an upgrade would be told.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Directory } from '../auth/directory.ts'
import { registerTokenEndpoint } from '../auth/token-routes.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MetricsRegistry } from '../base/metrics.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { Problem } from '../http/problem.ts'
import { createHttpServer } from '../http/server.ts'
import { type Listener, listen, REQUEST_MILLISECONDS_MAX, translateStoreError } from './listener.ts'

export interface PublicListenerOptions {
  readonly host: string
  readonly port: number
  /** The setting `http.header_bytes_max`. */
  readonly headerBytesMax: number
  /** The setting `auth.token_seconds`. */
  readonly tokenSeconds: number
  readonly directory: Directory
  readonly gateway: Pick<Gateway, 'upgrade' | 'judge'>
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly clock: Clock
}

export async function createPublicListener(options: PublicListenerOptions): Promise<Listener> {
  const { log, metrics, clock, gateway } = options
  const app = createHttpServer({
    listener: 'public',
    log,
    metrics,
    headerBytesMax: options.headerBytesMax,
    requestMilliseconds: REQUEST_MILLISECONDS_MAX,
    translate: translateStoreError,
  })
  registerTokenEndpoint(app, options)
  registerStreamDoor(app, gateway)
  app.server.on('upgrade', (request, socket, head) => gateway.upgrade(request, socket, head))
  return listen(app, options, clock)
}

function registerStreamDoor(app: FastifyInstance, gateway: PublicListenerOptions['gateway']): void {
  app.get('/', async (request, reply) => {
    if (request.headers.authorization !== undefined) {
      const refusal = await gateway.judge(request.raw)
      if (refusal !== undefined) throw refusal
    } else if (wantsPage(request.raw)) {
      return reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(PAGE)
    }
    throw new Problem('upgrade_required', 'the stream is a WebSocket: this request must ask for an upgrade to it', {
      headers: { upgrade: 'websocket', connection: 'upgrade, close', 'sec-websocket-version': '13' },
    })
  })
}

/** Browsers name HTML first; programs name nothing, or everything. */
function wantsPage({ headers }: IncomingMessage): boolean {
  return /(^|,)\s*text\/html\b/i.test(headers.accept ?? '')
}

const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tidegate</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}code{font-size:.95em}</style>
<h1>Tidegate</h1>
<p>Live order books over one authenticated WebSocket.</p>
<ul>
<li>Get a token: <a href="/oauth2/token"><code>POST /oauth2/token</code></a>, OAuth 2 client credentials.</li>
<li>Open the stream: a WebSocket to this address, <code>/</code>, with <code>Authorization: Bearer TOKEN</code>.</li>
</ul>
</html>
`
