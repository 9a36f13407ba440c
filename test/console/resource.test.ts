/** When the console loads again what it shows, without a browser. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type Headless, headless } from './headless.ts'

interface Loaded {
  reload(): void
}
type UseResource = (key: string, load: () => Promise<number>, everyMilliseconds?: number) => Loaded

const HOUR_MILLISECONDS = 3_600_000

let useResource: UseResource
let page: Headless
let loads: number
let listeners: Set<() => void>
const tab = {
  hidden: false,
  addEventListener: (_: string, listener: () => void) => listeners.add(listener),
  removeEventListener: (_: string, listener: () => void) => listeners.delete(listener),
}

beforeAll(async () => {
  const place = { pathname: '/console', search: '', hash: '' }
  vi.stubGlobal('window', { location: place })
  vi.stubGlobal('document', tab)
  vi.stubGlobal('sessionStorage', { getItem: () => null })
  vi.stubGlobal('BroadcastChannel', class {})
  ;({ useResource } = await import(join(import.meta.dirname, '../../packages/console/src/base/resource.ts')))
  page = await headless()
})

// Other test files run in this process.
afterAll(() => vi.unstubAllGlobals())

beforeEach(() => {
  loads = 0
  listeners = new Set()
  tab.hidden = false
})

const load = async () => ++loads

test('a reload is made in a hidden tab too, because it follows a change', async () => {
  let shown: Loaded | undefined
  page.show(() => {
    shown = useResource('a record', load)
    return null
  })
  await vi.waitFor(() => expect(loads).toBe(1), { timeout: 10_000 })
  tab.hidden = true
  shown?.reload()
  await vi.waitFor(() => expect(loads).toBe(2), { timeout: 10_000 })
})

test('what is loaded repeatedly is loaded as soon as a hidden tab is shown again', async () => {
  page.show(() => {
    useResource('a list', load, HOUR_MILLISECONDS)
    return null
  })
  await vi.waitFor(() => expect(listeners.size).toBe(1), { timeout: 10_000 })
  expect(loads).toBe(1)
  tab.hidden = true
  for (const listener of listeners) listener()
  expect(loads).toBe(1)
  tab.hidden = false
  for (const listener of listeners) listener()
  expect(loads).toBe(2)
  await page.close()
  expect(listeners.size).toBe(0)
})
