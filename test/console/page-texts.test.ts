/**
 * What pages of the console say, without a browser: a page is rendered for its data, and its parts without state are
 * called for their texts.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type Headless, headless } from './headless.ts'

// biome-ignore lint/suspicious/noExplicitAny: the test reads members of many components
type Any = any

const LEDGER = {
  differences: [],
  changed_postings: [],
  overdue: false,
  balances: 3,
  compared_at: '2026-11-29T10:00:00Z',
}

let answers: Record<string, object | undefined>
let textOf: (component: () => unknown) => () => string
let page: Headless

beforeAll(async () => {
  const place = { pathname: '/console', search: '', hash: '' }
  const nothing = () => undefined
  vi.stubGlobal('location', place)
  vi.stubGlobal('window', { location: place, history: {}, matchMedia: () => ({ matches: false }) })
  vi.stubGlobal('document', { hidden: false, addEventListener: nothing, removeEventListener: nothing })
  vi.stubGlobal('sessionStorage', { getItem: () => null })
  vi.stubGlobal('BroadcastChannel', class {})
  vi.stubGlobal('fetch', async (address: string) => {
    const answer = answers[new URL(address, 'http://console').pathname.replace('/admin/v1/', '')]
    const body = JSON.stringify(answer ?? { code: 'unavailable', detail: 'the store is slow' })
    return new Response(body, { status: answer === undefined ? 503 : 200 })
  })
  page = await headless()
  const { sessionState } = await load('base/session.ts')
  const allows = [
    'POST /orchestrations/:id/retry',
    'POST /orchestrations/:id/reject',
    'POST /deliveries/:id/claim',
    'POST /deliveries/:id/settle',
  ]
  sessionState.value = { kind: 'open', session: { allows, four_eyes: [], operator: { name: 'ada' } } }
  textOf = (component) => {
    let shown: unknown
    page.show(() => {
      shown = component()
      return null
    })
    return () => expanded(shown)
  }
})

// Other test files run in this process, in which a page's timers find no document.
afterAll(async () => {
  await page.close()
  vi.unstubAllGlobals()
})

beforeEach(() => {
  answers = {}
})

function load(path: string) {
  return import(join(import.meta.dirname, '../../packages/console/src', path))
}

/** The texts in what a component returned, with the addresses of links. A part with its own state has none. */
function expanded(node: Any): string {
  if (Array.isArray(node)) return node.map(expanded).join('')
  if (typeof node === 'string' || typeof node === 'number') return String(node)
  if (typeof node !== 'object' || node === null) return ''
  if (node.type === 'a') return `${expanded(node.props.children)} <${node.props.href}>`
  if (typeof node.type !== 'function' || node.type.length === 0) return expanded(node.props?.children)
  try {
    return expanded(node.type(node.props))
  } catch {
    return ''
  }
}

test.each([
  ['were compared', LEDGER, 'All equal'],
  ['were never compared', { ...LEDGER, compared_at: undefined }, 'Not compared yet'],
  ['were not compared for an hour', { ...LEDGER, overdue: true }, 'Overdue'],
])('the desk shows of balances that %s no more than that', async (_, ledger, state) => {
  answers = { desk: { items: [] }, ledger }
  const { DeskPage } = await load('pages/desk.tsx')
  const text = textOf(() => DeskPage())
  await expect.poll(text).toContain(state)
  expect(text().includes('All equal')).toBe(state === 'All equal')
})

test('the desk shows that the comparison of balances cannot be read', async () => {
  answers = { desk: { items: [] } }
  const { DeskPage } = await load('pages/desk.tsx')
  await expect.poll(textOf(() => DeskPage())).toContain('the store is slow')
})

test.each([
  ['converts and waits for a price', { step: 'convert', waiting_for: 'PRICE' }, true],
  ['waits for a gate, which stops its clock', { step: 'convert', waiting_for: 'HOLD', gates: [] }, false],
  ['was paid or not, which is not known', { step: 'deliver', waiting_for: 'OPERATOR' }, false],
])('an orchestration that %s expires only where it can', async (_, wait, canExpire) => {
  const amounts = { source_amount: '5', source_asset: 'USDC', destination_asset: 'USD', destination: {} }
  answers = { 'orchestrations/o1': { id: 'o1', status: 'PROCESSING', ...amounts, ...wait } }
  const { OrchestrationPage } = await load('pages/orchestration.tsx')
  const text = textOf(() => OrchestrationPage({ id: 'o1' }))
  await expect.poll(text).toContain('Waiting for')
  expect(text().includes('It expires at')).toBe(canExpire)
})

test.each([
  ['was refused by its executor', 'REFUSED', true],
  ['was cancelled by its customer', 'CANCELLED', false],
])('an orchestration that %s offers to retry it only where the service does', async (_, code, canRetry) => {
  const terms = { source_amount: '5', source_asset: 'USDC', destination_asset: 'USD', destination: {} }
  answers = { 'orchestrations/o2': { id: 'o2', status: 'FAILED', fail_reason: { code }, ...terms } }
  const { OrchestrationPage } = await load('pages/orchestration.tsx')
  const text = textOf(() => OrchestrationPage({ id: 'o2' }))
  await expect.poll(text).toContain('Why it failed')
  expect(text().includes('Retry')).toBe(canRetry)
})

test.each([
  ['before its conversion', 'convert', true],
  ['after its conversion, when its delivery has the money,', 'deliver', false],
])(
  'an orchestration at a closed gate %s offers to reject it only where the service does',
  async (_, step, canReject) => {
    const terms = { source_amount: '5', source_asset: 'USDC', destination_asset: 'USD', destination: {} }
    const gates = [{ code: 'REVIEW', detail: 'a large amount' }]
    answers = { 'orchestrations/o3': { id: 'o3', status: 'PROCESSING', step, waiting_for: 'HOLD', gates, ...terms } }
    const { OrchestrationPage } = await load('pages/orchestration.tsx')
    const text = textOf(() => OrchestrationPage({ id: 'o3' }))
    await expect.poll(text).toContain('Waiting for')
    expect(text().includes('Reject')).toBe(canReject)
  },
)

test.each([
  ['an executor', 'manual', true],
  ['the webhook', 'webhook', false],
])(
  'a delivery whose claim for %s has ended offers to claim it only where the service does',
  async (_, channel, canClaim) => {
    const terms = { amount: '5', asset: 'USDC', destination: {}, attempt: 1, attempts: [] }
    answers = { 'deliveries/d1': { id: 'd1', status: 'CLAIMED', channel, ...terms } }
    const { DeliveryPage } = await load('pages/delivery.tsx')
    const text = textOf(() => DeliveryPage({ id: 'd1' }))
    await expect.poll(text).toContain('Settle')
    // The two buttons stand beside each other.
    expect(text().includes('ClaimSettle')).toBe(canClaim)
  },
)

test.each([
  ['never had a book', { version: 0, bid_levels: 0, ask_levels: 0 }, 'No book yet'],
  ['withdrew it', { version: 7, bid_levels: 0, ask_levels: 0 }, 'The last book is withdrawn'],
  ['keeps it', { version: 7, bid_levels: 3, ask_levels: 0 }, 'The last book, which is not withdrawn'],
])('the page of a market without a live source that %s tells what customers see', async (_, market, seen) => {
  const { NoLiveSource } = await load('live/no-live-source.tsx')
  expect(expanded(NoLiveSource({ market }))).toContain(seen)
})

test('a request for a second person shows invisible characters in values of every length and in documents', async () => {
  const body = { memo: 'a\u200Bb', destination: { crypto: { address: 'c\u202Ed' } } }
  answers = {
    'change-requests/r1': {
      id: 'r1',
      status: 'PENDING',
      summary: 'Pay',
      call: 'POST /x',
      comment: '',
      subject: 's',
      body,
    },
  }
  const { ChangeRequestPage } = await load('pages/review/change-request.tsx')
  const text = textOf(() => ChangeRequestPage({ id: 'r1' }))
  await expect.poll(text).toContain('a[U+200B]b')
  // As a value of the destination, and in the document.
  for (const address of ['c[U+202E]d', 'c\\u202ed']) expect(text()).toContain(address)
})

test('a text by a customer cannot reorder a title, a fact or a cell', async () => {
  const disguised = 'Approved\u202E by\nada'
  const { Facts, PageHead } = await load('ui/parts.tsx')
  const { Table } = await load('ui/table.tsx')
  const columns = [{ name: 'Name', show: () => disguised }]
  const table = Table({ caption: 'x', columns, items: [1], keyOf: String })
  for (const part of [PageHead({ title: disguised }), Facts({ rows: [['Name', disguised]] }), table])
    expect(expanded(part)).toContain('Approved[U+202E] by\nada')
})

test.each([
  ['POST /destinations/:id/approve', '/console/review/destinations/s1'],
  ['POST /screening/:id/decide', '/console/review/screening/s1'],
  ['PUT /limits', '/console/customers/s1'],
])('a request for a second person to %s links the record', async (call, address) => {
  const request = { status: 'PENDING', summary: 'x', comment: '', subject: 's1', body: {}, record: {} }
  answers = { 'change-requests/r2': { id: 'r2', call, ...request } }
  const { ChangeRequestPage } = await load('pages/review/change-request.tsx')
  await expect.poll(textOf(() => ChangeRequestPage({ id: 'r2' }))).toContain(`<${address}>`)
})
