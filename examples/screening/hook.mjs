/**
 * A reference screening hook without dependencies: it verifies every request, decides once per question, and answers
 * every repeated request with the first decision. To run it: TIDEGATE_WEBHOOK_SECRET=whsec_... node hook.mjs
 *
 * Replace `decide` with a call to your provider. It must be quick: Tidegate waits ten seconds and asks again later.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const PORT = Number(process.env.PORT ?? 9191)
const BODY_BYTES_MAX = 65_536
const TOLERANCE_SECONDS = 300
/** Decisions kept for repeated requests. */
const KEPT_MAX = 100_000

/** Addresses with which no customer may deal, separated by spaces. */
const DENIED = new Set((process.env.DENIED_ADDRESSES ?? '').toLowerCase().split(/\s+/).filter(Boolean))

/** One secret, or two during a rotation. */
const keys = (process.env.TIDEGATE_WEBHOOK_SECRET ?? '')
  .split(/[\s,]+/)
  .filter((secret) => secret.startsWith('whsec_'))
  .map((secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'))
if (keys.length === 0) throw new Error('set TIDEGATE_WEBHOOK_SECRET to the secret in screening.secrets')

/** ALLOW, HOLD (a person decides) or REJECT, with a reason for the operators. */
async function decide({ movement, destination_use, tidegate_check }) {
  // `tidegate check-screening` asks for each decision.
  if (['allow', 'hold', 'reject'].includes(tidegate_check)) return { decision: tidegate_check.toUpperCase() }
  const addresses = [movement.address, movement.destination?.crypto?.address]
  if (addresses.some((address) => DENIED.has(address?.toLowerCase()))) {
    return { decision: 'REJECT', reason: 'the address is on the list' }
  }
  const isFirst = movement.type === 'payment' && destination_use?.payments === 0
  return isFirst && movement.amount.split('.')[0].length > 4
    ? { decision: 'HOLD', reason: 'a first payment of 10,000 or more' }
    : { decision: 'ALLOW' }
}

/** By question: its body, and the promise of its answer. Concurrent repeats share one decision. */
const questions = new Map()

function answerTo(id, body) {
  const known = questions.get(id)
  // The same id with another body is an error of the sender: it gets no decision.
  if (known !== undefined) return known.body === body ? known.answer : undefined
  const answer = decide(JSON.parse(body).data).then((decision) => ({ id, ...decision }))
  questions.set(id, { body, answer })
  // A failed decision is made again when the question is repeated.
  answer.catch(() => questions.delete(id))
  if (questions.size > KEPT_MAX) questions.delete(questions.keys().next().value)
  return answer
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
  const answer = await answerTo(id, body.toString('utf8'))
  if (answer === undefined) respond(response, 409, {})
  else respond(response, 200, answer)
}

function respond(response, status, answer) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    if (!response.destroyed && !response.headersSent) respond(response, 500, {})
    if (!request.destroyed) console.error(error)
  })
})
server.listen(PORT, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))
process.once('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
})
