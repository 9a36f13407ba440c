/**
 * Customers with plans, each with a connection to one node, and the times of a downgrade: from the operator's answer
 * until the connections and the REST API of every node follow the tighter plan.
 */
import { expect } from 'vitest'
import { connectOnceKnown } from './known-client.ts'
import { type OperatorApi, STREAM_SCOPE } from './running-service.ts'
import { fetchToken, type SampleClient } from './sample-client.ts'

interface PlannedCustomersOptions {
  /** Customers connect to them in turn. */
  readonly gateways: readonly { readonly http: string; readonly ws: string }[]
  /** With the public and the operator API. Downgrades go to them in turn. */
  readonly apis: readonly { readonly http: string; readonly operator: OperatorApi }[]
  readonly customers: number
  readonly plans: number
}

interface Customer {
  readonly plan: string
  readonly token: string
  readonly client: SampleClient
}

/** The markets in every plan at first. A downgrade leaves the first one, at this depth. */
const KEPT = 'BTCUSD'
const ENDED = 'ETHUSD'
const DEPTH = 5
const SCOPES = [STREAM_SCOPE, 'exchange:read_marketdata']
/** Customers that are created at the same time. */
const AT_ONCE = 10
const POLL_MILLISECONDS = 25

const bookOf = (market: string) => ({ type: 'market_data', params: { market } })

export class PlannedCustomers {
  readonly #options: PlannedCustomersOptions
  readonly #customers: Customer[] = []

  private constructor(options: PlannedCustomersOptions) {
    this.#options = options
  }

  /** Creates plans and customers. Resolves when each connection has both books. */
  static async open(options: PlannedCustomersOptions): Promise<PlannedCustomers> {
    const { apis, customers, plans } = options
    const { operator } = first(apis)
    const opened = new PlannedCustomers(options)
    for (let number = 0; number < plans; number++) await operator.call('POST', '/plans', { name: nameOf(number) })
    let next = 0
    const work = async () => {
      while (next < customers) await opened.#add(next++)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return opened
  }

  /**
   * Takes a market and levels from a plan. Returns the milliseconds from the operator's answer until each of its
   * connections had the notice and the tighter book, and the REST API of every node followed.
   */
  async downgrade(number: number): Promise<readonly number[]> {
    const { gateways, apis } = this.#options
    const plan = nameOf(number)
    const affected = this.#customers.filter((customer) => customer.plan === plan)
    const watches = affected.flatMap(({ client }) => {
      expect(levelsOf(client)).toBeGreaterThan(DEPTH)
      return [
        client.until(`the end of ${ENDED}`, () => hasEnded(client)),
        client.until(`${DEPTH} levels`, () => levelsOf(client) <= DEPTH),
      ].map(timed)
    })
    const { operator } = inTurn(apis, number)
    await operator.call('PATCH', `/plans/${plan}`, { markets: [KEPT], depth_max: DEPTH })
    const answered = performance.now()
    const { token } = first(affected)
    const rest = [
      ...apis.map(({ http }) => listsOneMarket(http, token)),
      ...gateways.map(({ http }) => deniesBook(http, token)),
    ]
    const times = await Promise.all([...watches, ...rest.map(timed)])
    return times.map((time) => Math.max(0, time - answered))
  }

  /** What no connection may have: broken rules, and an end in a plan that is as it was. */
  problems(downgraded: readonly number[]): readonly string[] {
    const changed = new Set(downgraded.map(nameOf))
    return this.#customers.flatMap(({ plan, client }) => [
      ...client.problems,
      ...(hasEnded(client) === changed.has(plan) ? [] : [`${plan}: an end of ${ENDED} was sent, or is missing`]),
    ])
  }

  close(): void {
    for (const { client } of this.#customers) client.terminate()
  }

  /** The plans are spread over the gateways, as far as their numbers have no common divisor. */
  async #add(number: number): Promise<void> {
    const { gateways, apis, plans } = this.#options
    const { operator, http: authUrl } = first(apis)
    const plan = nameOf(number % plans)
    const { id } = await operator.call<{ id: string }>('POST', '/customers', (attempt) => ({
      name: `planned ${number}, ${attempt}`,
      streaming: true,
    }))
    await operator.call('PATCH', `/customers/${id}`, { plan })
    const made = await operator.call<{ client_id: string; client_secret: string }>(
      'POST',
      `/customers/${id}/clients`,
      (attempt) => ({
        name: `reader ${attempt}`,
        scopes: SCOPES,
      }),
    )
    const token = await fetchToken({
      authUrl,
      clientId: made.client_id,
      clientSecret: made.client_secret,
      scope: SCOPES.join(' '),
    })
    const client = await connectOnceKnown(inTurn(gateways, number).ws, token)
    await client.subscribe(bookOf(KEPT), bookOf(ENDED))
    await client.until('both books', () => client.book(KEPT).isComplete && client.book(ENDED).isComplete)
    this.#customers.push({ plan, token, client })
  }
}

function first<Item>(items: readonly Item[]): Item {
  return inTurn(items, 0)
}

function inTurn<Item>(items: readonly Item[], number: number): Item {
  return items[number % items.length] as Item
}

function nameOf(number: number): string {
  return `tier-${number}`
}

function levelsOf(client: SampleClient): number {
  const { bids, asks } = client.book(KEPT)
  return Math.max(bids.size, asks.size)
}

function hasEnded({ replies }: SampleClient): boolean {
  return replies.some(({ type }) => type === 'unsubscribe')
}

async function timed(event: Promise<void>): Promise<number> {
  await event
  return performance.now()
}

/** Until the market list has the plan's market alone. */
function listsOneMarket(http: string, token: string): Promise<void> {
  return untilAnswered(`${http}/v2/markets`, token, async (response) => {
    const { items } = (await response.json()) as { items: readonly { market: string }[] }
    return items.length === 1 && items[0]?.market === KEPT
  })
}

function deniesBook(http: string, token: string): Promise<void> {
  return untilAnswered(`${http}/v2/markets/${ENDED}/order-book`, token, async (response) => {
    const { code } = (await response.json()) as { code?: string }
    return response.status === 403 && code === 'not_allowed'
  })
}

async function untilAnswered(
  url: string,
  token: string,
  isExpected: (response: Response) => Promise<boolean>,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  while (!(await isExpected(await fetch(url, { headers })))) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS))
  }
}
