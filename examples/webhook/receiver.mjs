/**
 * A reference receiver of events without dependencies: it verifies every request, handles each event once, and accepts
 * repeated ones. To run it: TIDEGATE_WEBHOOK_SECRET=whsec_... node receiver.mjs
 *
 * Replace `handle` with your own work, and `seen` with a table that your work writes in its own transaction.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const PORT = Number(process.env.PORT ?? 9292)
const BODY_BYTES_MAX = 65_536
const TOLERANCE_SECONDS = 300
/** Ids kept to recognise repeated events. */
const KEPT_MAX = 100_000

/** One secret, or two during a rotation. */
const keys = (process.env.TIDEGATE_WEBHOOK_SECRET ?? '')
  .split(/[\s,]+/)
  .filter((secret) => secret.startsWith('whsec_'))
  .map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))
if (keys.length === 0) throw new Error('set TIDEGATE_WEBHOOK_SECRET to the endpoint’s secret')

/** The event names the changed object: read it with the API, because it may have changed again. */
async function handle({ type, subject, sequence, data }) {
  console.log(`${sequence} ${type} ${subject} ${data.status ?? ''}`)
}

/** By event id, the promise of its handling. Concurrent repeats share one. */
const seen = new Map()

function handleOnce(id, event) {
  const known = seen.get(id)
  if (known !== undefined) return known
  const handled = handle(event)
  seen.set(id, handled)
  // A failed one is handled again when it is repeated.
  handled.catch(() => seen.delete(id))
  if (seen.size > KEPT_MAX) seen.delete(seen.keys().next().value)
  return handled
}

function isVerified(id, timestamp, signatures, body) {
  if (!/^[0-9]{1,12}$/.test(timestamp ?? '')) return false
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const given = (signatures ?? '').split(' ').flatMap((text) => (text.startsWith('v1,') ? [text.slice(3)] : []))
  return keys.some((key) => {
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
    return given.some((text) => {
      const signature = Buffer.from(text, 'base64')
      return signature.length === expected.length && timingSafeEqual(signature, expected)
    })
  })
}

async function receive(request, response) {
  const parts = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > BODY_BYTES_MAX) return respond(response, 413)
    parts.push(part)
  }
  // The signature covers the received bytes: a body that was parsed and serialised again has another signature.
  const body = Buffer.concat(parts)
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = request.headers
  if (request.method !== 'POST' || id === undefined) return respond(response, 400)
  if (!isVerified(id, timestamp, signatures, body)) return respond(response, 401)
  await handleOnce(id, JSON.parse(body.toString('utf8')))
  respond(response, 204)
}

function respond(response, status) {
  response.writeHead(status).end()
}

const server = createServer((request, response) => {
  receive(request, response).catch((error) => {
    if (!response.destroyed && !response.headersSent) respond(response, 500)
    if (!request.destroyed) console.error(error)
  })
})
server.listen(PORT, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
