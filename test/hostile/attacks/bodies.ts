/**
 * Attacks with one-megabyte bodies. The public write operations and their request schemas come from the served
 * `/openapi.json`, so that new operations are attacked too. The operator API's are listed here.
 */
import { type Attack, Findings } from './attack.ts'
import { type Answer, bearer, paced, type Sent, send, statusText } from './requests.ts'
import type { Stage } from './stage.ts'

const MEGABYTE = 1_048_576
/** CPU time for one body. Parsing a megabyte of JSON takes 20 to 60 ms on a small machine. */
const BODY_MILLISECONDS_MAX = 500
/** The CPU time after which a body is no longer waited for. */
const GIVEN_UP_MILLISECONDS = 5_000
const LOOK_MILLISECONDS = 250
const UNKNOWN_ID = '00000000-0000-4000-8000-000000000000'

/** The part of a JSON schema that determines the expensive bodies. */
interface Schema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

interface Write {
  readonly name: string
  readonly method: string
  readonly url: string
  readonly token: string
  readonly schema: Schema
}

const LIST: Schema = { type: 'array', items: {} }
const text: Schema = { type: 'string' }
const OPERATOR_WRITES: readonly (readonly [method: string, path: string, schema: Schema])[] = [
  ['POST', '/customers', { properties: { name: text } }],
  ['PATCH', `/customers/${UNKNOWN_ID}`, { properties: { enabled: {} } }],
  ['POST', `/customers/${UNKNOWN_ID}/clients`, { properties: { name: text, scopes: LIST, publish_markets: LIST } }],
  ['PATCH', `/clients/${UNKNOWN_ID}`, { properties: { scopes: LIST, publish_markets: LIST } }],
  ['POST', `/clients/${UNKNOWN_ID}/secrets`, {}],
  ['POST', `/customers/${UNKNOWN_ID}/profiles`, { properties: { nickname: text } }],
  ['PATCH', `/accounts/${UNKNOWN_ID}`, { properties: { summary_status: text } }],
  ['POST', `/rules/${UNKNOWN_ID}/approve`, {}],
  ['POST', `/rules/${UNKNOWN_ID}/reject`, { properties: { reason: text } }],
  ['POST', `/rules/${UNKNOWN_ID}/delete`, {}],
  ['POST', '/receipt-keys', {}],
  ['POST', '/address-pool', { properties: { network: text, addresses: LIST } }],
]

interface OpenApi {
  readonly paths: Record<string, Record<string, { operationId?: string; requestBody?: { content: Content } }>>
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>

async function writesOf(stage: Stage, token: string): Promise<Write[]> {
  const { text: document } = await send(`${stage.http}/openapi.json`)
  const { paths } = JSON.parse(document) as OpenApi
  const customers = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId = path, requestBody }]): Write[] => {
      const schema = requestBody?.content['application/json']?.schema
      if (schema === undefined) return []
      const url = stage.http + path.replaceAll(/\{\w+\}/g, UNKNOWN_ID)
      return [{ name: operationId, method: method.toUpperCase(), url, token, schema }]
    }),
  )
  const operators = OPERATOR_WRITES.map(([method, path, schema]): Write => {
    const url = `${stage.operator.url}/admin/v1${path}`
    return { name: `operator ${method} ${path}`, method, url, token: stage.operator.token, schema }
  })
  return [...customers, ...operators]
}

/** Fills a megabyte with the entries that `entry` returns. */
function megabyteOf(entry: (index: number) => string): string {
  const parts: string[] = []
  for (let index = 0, bytes = 2; ; index++) {
    const part = entry(index)
    bytes += part.length + 1
    if (bytes > MEGABYTE - 256) return parts.join()
    parts.push(part)
  }
}

const FILLINGS: Readonly<Record<string, () => string>> = {
  'distinct objects': () => `[${megabyteOf((index) => `{"a":${index}}`)}]`,
  'distinct lists': () => `[${megabyteOf((index) => `[${index}]`)}]`,
  'distinct numbers': () => `[${megabyteOf((index) => `${index}`)}]`,
  'distinct texts': () => `[${megabyteOf((index) => `"${index}"`)}]`,
  'empty objects': () => `[${megabyteOf(() => '{}')}]`,
  'unknown members': () => `{${megabyteOf((index) => `"m${index}":0`)}}`,
  'one name, each time with another value': () => `{${megabyteOf((index) => `"m":${index}`)}}`,
  'nested lists': () => '['.repeat(MEGABYTE / 2 - 128) + ']'.repeat(MEGABYTE / 2 - 128),
  'nested objects': () => `${'{"a":'.repeat(170_000)}0${'}'.repeat(170_000)}`,
  'one long text': () => `"${'𝄞'.repeat(MEGABYTE / 4 - 64)}"`,
  'one long text of escapes': () => `"${'\\u0061'.repeat(MEGABYTE / 6 - 64)}"`,
  'one long number': () => '9'.repeat(MEGABYTE - 256),
}

interface Place {
  readonly name: string
  /** The surrounding body, with `*` in the place of the filling. */
  readonly frame: string
}

/** The places in a body for a megabyte: the whole body, and every list and object in its schema. */
function placesIn(schema: Schema, name = 'body', frame = '*'): Place[] {
  const here = { name, frame }
  const inside = Object.entries(schema.properties ?? {}).flatMap(([member, part]) =>
    placesIn(
      part,
      `${name}.${member}`,
      frame.replace('*', () => `{${JSON.stringify(member)}:*}`),
    ),
  )
  const items =
    schema.items === undefined
      ? []
      : placesIn(
          schema.items,
          `${name}[]`,
          frame.replace('*', () => '[*]'),
        )
  return [here, ...inside, ...items]
}

/** Bodies for an operation: each filling as the whole body, and the lists and objects in each place in the schema. */
function bodiesFor(schema: Schema): { readonly name: string; make(): string }[] {
  const everywhere = ['distinct objects', 'distinct texts', 'unknown members', 'one long text']
  return placesIn(schema).flatMap(({ name, frame }) =>
    Object.entries(FILLINGS)
      .filter(([filling]) => name === 'body' || everywhere.includes(filling))
      .map(([filling, fill]) => ({
        name: `${filling} in ${name}`,
        make: () => frame.replace('*', () => fill()),
      })),
  )
}

export const hostileBodies: Attack = {
  name: 'hostile-bodies',
  sent: 'bodies of 1 MiB to every write operation: distinct objects, nesting, unknown members, long texts, in each place of the schema',
  holds: `each is answered with 4xx and costs at most ${BODY_MILLISECONDS_MAX} ms of processor time`,
  isolation: 'own',
  isInTests: true,
  // One after the other, because each one's cost is read from the process.
  settings: { 'rest.rate_per_second': '100000' },
  async run({ stage, random, scale, round }) {
    const findings = new Findings()
    const { token } = await stage.customer()
    const bodies = (await writesOf(stage, token)).flatMap((write) =>
      bodiesFor(write.schema).map((body) => ({ ...write, ...body, operation: write.name })),
    )
    // First the list whose entries must be unique: it was once the most expensive.
    const share = scale === 'full' && round === 0 ? 1 : 0.06
    const chosen = bodies.filter(
      ({ name }) => name === 'distinct objects in body.account.members[].roles' || random.chance(share),
    )
    const costs: number[] = []
    for (const { operation, name, method, url, token: sentToken, make } of chosen) {
      const what = `${operation}: ${name}`
      const headers = { ...bearer(sentToken), 'content-type': 'application/json' }
      const { status, error, cost } = await costOf(stage, url, { method, headers, body: make() })
      if (!stage.isAlive) throw new Error(`the process ended (${stage.ended}) at ${what}`)
      costs.push(cost)
      findings.check(status >= 400 && status < 500, `${what} was answered ${error ?? status}`)
      findings.check(cost <= BODY_MILLISECONDS_MAX, `${what} cost ${Math.round(cost)} ms of processor time`)
      // The remaining work for this body would be counted for the next one.
      if (status === 0) break
    }
    return findings.outcome(
      `${costs.length} of ${bodies.length} bodies, at most ${Math.max(...costs)} ms of processor time`,
    )
  },
}

/** Sends a request and resolves with its response and the service's CPU time meanwhile. */
async function costOf(stage: Stage, url: string, sent: Sent): Promise<Answer & { readonly cost: number }> {
  const before = stage.busyMilliseconds
  const tooLong = new AbortController()
  const look = setInterval(() => {
    const cost = stage.busyMilliseconds - before
    if (cost > GIVEN_UP_MILLISECONDS) tooLong.abort(`no answer after ${cost} ms of processor time`)
  }, LOOK_MILLISECONDS)
  try {
    const answer = await send(url, { ...sent, signal: tooLong.signal })
    return { ...answer, cost: stage.busyMilliseconds - before }
  } finally {
    clearInterval(look)
  }
}

/** CPU time for one rejected megabyte in a series, including all the process's other work. */
const REJECTED_MILLISECONDS_MAX = 120

export const rejectedMegabytes: Attack = {
  name: 'rejected-megabytes',
  sent: '100 rejected bodies of 1 MiB at 50 a second, each with an error in every entry',
  holds: `each is 400 or 429 and costs at most ${REJECTED_MILLISECONDS_MAX} ms of processor time`,
  isolation: 'shared',
  isInTests: true,
  async run({ stage, scale }) {
    const findings = new Findings()
    const { token } = await stage.customer()
    const count = scale === 'full' ? 100 : 20
    const members = megabyteOf((index) => `{"identity_id":${index},"roles":["OWNER","OWNER"],"more":1}`)
    const body = `{"account":{"identity_id":"a","members":[${members}]}}`
    const before = stage.busyMilliseconds
    const answers = await paced(count, 50, () =>
      send(`${stage.http}/v2/identity/accounts`, {
        method: 'POST',
        headers: { ...bearer(token), 'content-type': 'application/json' },
        body,
      }),
    )
    const cost = Math.round((stage.busyMilliseconds - before) / count)
    findings.check(
      answers.every(({ status }) => status === 400 || status === 429),
      `answers: ${statusText(answers)}`,
    )
    findings.check(cost <= REJECTED_MILLISECONDS_MAX, `${cost} ms of processor time for each`)
    return findings.outcome(`${statusText(answers)}; ${cost} ms of processor time for each`)
  },
}
