/** Tabs share the cookie of a browser's last login. What the others do when one logs in, without a browser. */
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'

// biome-ignore lint/suspicious/noExplicitAny: the test reads members of a module
type Any = any

const PEOPLE: Readonly<Record<string, string>> = { 'secret-of-ada': 'ada', 'secret-of-bob': 'bob' }

/** Tabs of one origin. */
class Channel {
  static open: Channel[] = []
  received: unknown[] = []
  onmessage = (event: { readonly data: unknown }): void => void this.received.push(event.data)

  constructor() {
    Channel.open.push(this)
  }

  postMessage(data: unknown): void {
    for (const other of Channel.open) if (other !== this) other.onmessage({ data })
  }
}

const location = { pathname: '/console', search: '', hash: '' }
let kept: Map<string, string>
let isUnavailable: boolean

beforeAll(() => {
  vi.stubGlobal('window', { location, history: { replaceState: () => undefined } })
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  })
  vi.stubGlobal('BroadcastChannel', Channel)
  vi.stubGlobal('fetch', async (_: string, { headers }: { readonly headers: Record<string, string> }) => {
    const name = PEOPLE[headers['x-csrf-token'] ?? '']
    if (isUnavailable) return new Response('{"code":"unavailable"}', { status: 503 })
    if (name === undefined) return new Response('{"code":"csrf_failed"}', { status: 403 })
    return new Response(JSON.stringify({ operator: { name }, allows: [], four_eyes: [] }))
  })
})

// Other test files run in this process.
afterAll(() => vi.unstubAllGlobals())

beforeEach(() => {
  Channel.open = []
  kept = new Map()
  isUnavailable = false
})

/** A new tab with this secret in its address. */
async function openTab(secret: string): Promise<Any> {
  location.hash = `#session=${secret}`
  vi.resetModules()
  const tab = await import(join(import.meta.dirname, '../../packages/console/src/base/session.ts'))
  await tab.loadSession()
  return tab
}

test('a tab shows the person who has logged in in another tab, because its calls are made by that person', async () => {
  const tab = await openTab('secret-of-ada')
  expect(tab.session.value.operator.name).toBe('ada')
  new Channel().postMessage({ kind: 'secret', secret: 'secret-of-bob' })
  await expect.poll(() => tab.session.value.operator.name).toBe('bob')
  expect(tab.hasEnded.value).toBe(false)
})

test('a tab asks for a login when it cannot learn who has logged in in another tab', async () => {
  const tab = await openTab('secret-of-ada')
  isUnavailable = true
  new Channel().postMessage({ kind: 'secret', secret: 'secret-of-bob' })
  await expect.poll(() => tab.hasEnded.value).toBe(true)
})

test('a tab gives the secret in its address to other tabs only after the service has accepted it', async () => {
  const other = new Channel()
  const forged = await openTab('forged')
  expect(forged.sessionState.value.kind).toBe('none')
  expect(other.received).toEqual([])
  const accepted = await openTab('secret-of-bob')
  expect(accepted.sessionState.value.kind).toBe('open')
  expect(other.received).toEqual([{ kind: 'secret', secret: 'secret-of-bob' }])
})
