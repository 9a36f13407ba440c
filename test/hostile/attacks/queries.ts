/** Attacks with query strings as long as a request head permits. */
import { OPERATIONS } from '../../../src/contract/operations.ts'
import { type Attack, Findings } from './attack.ts'
import { bearer, send, statusText } from './requests.ts'

const QUERY_CHARACTERS = 480_000
/** CPU time for one query, including the parsing of its head and all the process's other work. */
const WITH_TOKEN_MILLISECONDS_MAX = 120
const WITHOUT_TOKEN_MILLISECONDS_MAX = 40
/** One query costs less than the kernel's counting unit. */
const REPEATS = 4

function filled(part: (index: number) => string): string {
  const parts: string[] = []
  for (let index = 0, length = 0; ; index++) {
    const next = part(index)
    length += next.length + 1
    if (length > QUERY_CHARACTERS) return parts.join('&')
    parts.push(next)
  }
}

const QUERIES: Readonly<Record<string, string>> = {
  'unknown parameters': filled((index) => `p${index}=1`),
  'faults in encoding': filled(() => '%zz'),
  'one parameter again and again': filled(() => 'ids=x'),
  'empty pairs': '&'.repeat(QUERY_CHARACTERS),
  'one value with commas': `ids=${','.repeat(QUERY_CHARACTERS)}`,
  'one long value': `ref_ids=${'x'.repeat(QUERY_CHARACTERS)}`,
  'an encoded value': `page_cursor=${'%41'.repeat(QUERY_CHARACTERS / 3)}`,
  'a value of many spaces': `created_at.gt=${'+'.repeat(QUERY_CHARACTERS)}`,
  'bad times': filled(() => 'created_at.gt=x'),
}

const CUSTOMER_PATHS = [
  ...new Set(
    Object.values(OPERATIONS)
      .filter(({ method }) => method === 'GET')
      .map(({ path }) => path),
  ),
]
const OPEN_PATHS = ['/', '/oauth2/token', '/openapi.json', '/nothing']

export const longQueries: Attack = {
  name: 'long-queries',
  sent: `queries of 480 KB in ${Object.keys(QUERIES).length} shapes to every list, with a token and without`,
  holds: `with a token each costs at most ${WITH_TOKEN_MILLISECONDS_MAX} ms of processor time, without one ${WITHOUT_TOKEN_MILLISECONDS_MAX} ms`,
  cases: Object.keys(QUERIES),
  isolation: 'own',
  isInTests: false,
  settings: { 'rest.rate_per_second': '100000' },
  async run({ stage, random, scale, round }) {
    const findings = new Findings()
    const { token } = await stage.customer()
    const costs = { with: [0], without: [0] }
    const answers: { readonly status: number }[] = []
    const share = scale === 'full' && round === 0 ? 1 : 0.15
    for (const [shape, query] of Object.entries(QUERIES)) {
      for (const hasToken of [true, false]) {
        for (const path of hasToken ? CUSTOMER_PATHS : [...CUSTOMER_PATHS, ...OPEN_PATHS]) {
          if (!random.chance(share)) continue
          const headers = hasToken ? bearer(token) : {}
          const before = stage.busyMilliseconds
          const url = `${stage.http}${path.replace('{id}', 'x')}?${query}`
          for (let count = 0; count < REPEATS; count++) answers.push(await send(url, { headers }))
          if (!stage.isAlive) throw new Error(`the process ended (${stage.ended}) at ${shape}`)
          const cost = Math.round((stage.busyMilliseconds - before) / REPEATS)
          const costMax = hasToken ? WITH_TOKEN_MILLISECONDS_MAX : WITHOUT_TOKEN_MILLISECONDS_MAX
          costs[hasToken ? 'with' : 'without'].push(cost)
          findings.check(
            cost <= costMax,
            `${shape} at ${path} ${hasToken ? 'with' : 'without'} a token cost ${cost} ms`,
          )
        }
      }
    }
    const isKnown = answers.every(({ status }) => [200, 400, 401, 404, 405, 414, 426, 431].includes(status))
    findings.check(isKnown, `answers: ${statusText(answers)}`)
    const most = `at most ${Math.max(...costs.with)} ms with a token and ${Math.max(...costs.without)} ms without`
    return findings.outcome(`${statusText(answers)}; ${most}`)
  },
}
