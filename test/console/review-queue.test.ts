/** What the console reads of what waits for a person, and says about it: its components, called without a browser. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { headless } from './headless.ts'

const PATHS = ['accounts', 'rules', 'destinations', 'screening', 'deposits', 'orchestrations', 'change-requests']
const WELL = { differences: [], changed_postings: [], overdue: false, balances: 3 }
const OVERVIEW = { checks: [{ name: 'store', ok: true, detail: 'ok' }] }

let read: URL[]
let answers: Record<string, object | undefined>
let run: (component: () => unknown) => Promise<string>

beforeAll(async () => {
  const place = { pathname: '/console/review', search: '', hash: '', origin: 'http://console' }
  vi.stubGlobal('location', place)
  vi.stubGlobal('window', { location: place, history: {}, matchMedia: () => ({ matches: false }) })
  const nothing = () => undefined
  vi.stubGlobal('document', { hidden: false, addEventListener: nothing, removeEventListener: nothing })
  vi.stubGlobal('sessionStorage', { getItem: () => null })
  vi.stubGlobal('BroadcastChannel', class {})
  vi.stubGlobal('fetch', async (address: string) => {
    const url = new URL(address, 'http://console')
    read.push(url)
    const answer = answers[url.pathname.replace('/admin/v1/', '')]
    return new Response(JSON.stringify(answer ?? { code: 'unavailable', detail: 'the store is slow' }), {
      status: answer === undefined ? 503 : 200,
    })
  })
  const { show, close } = await headless()
  const { sessionState } = await load('base/session.ts')
  const allows = [...PATHS, 'deliveries', 'ledger', 'controls'].map((path) => `GET /${path}`)
  sessionState.value = { kind: 'open', session: { allows } }
  run = async (component) => {
    let result: unknown
    show(() => {
      result = component()
      return null
    })
    await vi.waitFor(() => expect(read.length).toBeGreaterThan(5), { timeout: 45_000 })
    // Until nothing more is read, and the component says the same for half a second.
    for (let same = 0, before = ''; same < 10; ) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const now = `${read.length} ${JSON.stringify(result)}`
      same = now === before ? same + 1 : 0
      before = now
    }
    await close()
    return JSON.stringify(result) ?? ''
  }
})

// Other test files run in this process.
afterAll(() => vi.unstubAllGlobals())

beforeEach(() => {
  read = []
  const lists = [...PATHS, 'deliveries'].map((path) => [path, { items: [] }] as const)
  const paused = { assets: [], networks: [], pairs: [], deliveries: false }
  answers = { ...Object.fromEntries(lists), ledger: WELL, controls: { paused } }
})

function load(path: string) {
  return import(join(import.meta.dirname, '../../packages/console/src', path))
}

/** The console's own configuration has the types of its pages. */
async function page(name: string): Promise<Readonly<Record<string, (properties?: object) => unknown>>> {
  return await load(`pages/${name}.tsx`)
}

async function alarms(): Promise<string> {
  const { Alarms } = await page('alarms')
  return await run(() => Alarms?.({ overview: OVERVIEW, markets: [] }))
}

test('the review queue asks each list for its oldest records, because it shows only one page of it', async () => {
  const { useSources } = await page('review/queue')
  await run(() => useSources?.())
  // Reversed deposits stay unattributed for ever, so the newest are asked for.
  const order = ({ searchParams }: URL) => (searchParams.has('unattributed') ? 'DESC' : 'ASC')
  expect(read.map(({ searchParams }) => searchParams.get('order'))).toEqual(read.map(order))
})

test('the review queue lists a return that may have been paid, and no payment twice', async () => {
  const { useSources } = await page('review/queue')
  const stuck = { customer_id: 'c', amount: '5', asset: 'USDC', updated_at: '', destination: {} }
  answers.deliveries = {
    items: [
      { ...stuck, id: 'r1', deposit_id: 'd1' },
      { ...stuck, id: 'p1', orchestration_id: 'o1' },
    ],
  }
  const said = await run(() => useSources?.())
  expect(said.match(/"path":"[^"]*"/g)).toEqual(['"path":"/money/deliveries/r1"'])
  expect(said).toContain('it is not known whether the return was paid')
})

test('the overview says that nothing needs attention only when everything was read and nothing waits', async () => {
  expect(await alarms()).toContain('Nothing needs attention')
  answers['change-requests'] = { items: [{ id: 'a', created_at: '', requested_by: 'operator:a', summary: 'pay' }] }
  expect(await alarms()).toContain('1 other record')
  answers['change-requests'] = undefined
  expect(await alarms()).toContain('Not everything could be read')
})

test.each([
  ['a changed range of postings', { changed_postings: [{ first_id: '1', last_id: '2' }] }, '1 changed range'],
  ['an overdue comparison', { overdue: true }, 'balances were not compared for an hour'],
])('the overview shows %s of the ledger', async (_, changes, text) => {
  answers.ledger = { ...WELL, ...changes }
  expect(await alarms()).toContain(text)
})
