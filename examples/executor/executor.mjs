/**
 * A reference executor without dependencies: it verifies every request, pays each delivery once, and answers
 * every repeated request with the first result. To run it: TIDEGATE_WEBHOOK_SECRET=whsec_... node executor.mjs
 *
 * It makes no payment: replace `pay` with a call to your bank or custodian that passes the delivery's id as their
 * idempotency key. Results are kept in a file, one line per event: results that are only in memory would be paid again
 * after a restart.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'

const PORT = Number(process.env.PORT ?? 9090)
const FILE = process.env.EXECUTOR_FILE ?? 'executor-results.jsonl'
const BODY_BYTES_MAX = 65_536
const TOLERANCE_SECONDS = 300

/** One secret, or two during a rotation. */
const keys = (process.env.TIDEGATE_WEBHOOK_SECRET ?? '')
  .split(/[\s,]+/)
  .filter((secret) => secret.startsWith('whsec_'))
  .map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))
if (keys.length === 0) throw new Error('set TIDEGATE_WEBHOOK_SECRET to the secret in deliveries.webhook_secrets')

/** By webhook-id: the body of the first request, and the response to it. */
const results = new Map()
const file = openSync(FILE, 'a+', 0o600)
const kept = readFileSync(file)
// A crash can cut the last line. Its result was not sent.
const end = kept.lastIndexOf('\n') + 1
if (end < kept.length) ftruncateSync(file, end)
for (const line of kept.toString('utf8', 0, end).split('\n').filter(Boolean)) {
  const { id, ...result } = JSON.parse(line)
  results.set(id, result)
}

/** Writes the result to the disk before it is returned to any caller. */
function keep(id, result) {
  try {
    writeFileSync(file, `${JSON.stringify({ id, ...result })}\n`)
    fsyncSync(file)
  } catch (error) {
    // A full disk may keep half a line. The next start cuts it off, before another result follows it.
    console.error(error)
    process.exit(1)
  }
  results.set(id, result)
}

/** Payments in progress, by webhook-id: a repeated request waits for the first one. */
const paying = new Map()

/** How often each payment was requested: `tidegate check-executor` reads this count in the responses. */
const made = new Map()

/** Requests the payment. A second call with the same key must not pay again: your bank has to guarantee that. */
async function pay(idempotencyKey, { metadata }) {
  if (metadata?.tidegate_check === 'refuse') return { status: 'REFUSED', code: 'closed_account', detail: 'a test' }
  const payments = (made.get(idempotencyKey) ?? 0) + 1
  made.set(idempotencyKey, payments)
  return { status: 'SETTLED', reference: `example-${idempotencyKey}`, payments }
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

async function answerTo(id, body) {
  const known = results.get(id)
  if (known !== undefined) {
    // The same id with another body is an error of the sender: neither pay nor reject the delivery.
    return known.body === body ? [200, known.answer] : [409, { status: 'CONFLICT' }]
  }
  const under = paying.get(id)
  if (under !== undefined) {
    await under
    return answerTo(id, body)
  }
  const payment = pay(id, JSON.parse(body).data).then((answer) => keep(id, { body, answer }))
  paying.set(id, payment)
  try {
    await payment
  } finally {
    paying.delete(id)
  }
  return answerTo(id, body)
}

async function handle(request, response) {
  const parts = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > BODY_BYTES_MAX) return respond(response, 413, {})
    parts.push(part)
  }
  // The signature covers the received bytes: a body that was parsed and serialised again has another signature.
  const body = Buffer.concat(parts)
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = request.headers
  if (request.method !== 'POST' || id === undefined) return respond(response, 400, {})
  if (!isVerified(id, timestamp, signatures, body)) return respond(response, 401, {})
  const [status, answer] = await answerTo(id, body.toString('utf8'))
  respond(response, status, answer)
}

function respond(response, status, answer) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    // A closed connection is not an error; any other failure must not be mistaken for a result.
    if (!response.destroyed && !response.headersSent) respond(response, 500, {})
    if (!request.destroyed) console.error(error)
  })
})
server.listen(PORT, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))
process.once('SIGTERM', () => {
  server.close(() => closeSync(file))
  server.closeAllConnections()
})
