/** What the console's calls report when the answer is not the service's, without a browser. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

type Calling = (...parameters: readonly unknown[]) => Promise<unknown>

let api: { readonly call: Calling; readonly get: Calling }
let answer: () => Response

beforeAll(async () => {
  vi.stubGlobal('window', { location: { hash: '' } })
  vi.stubGlobal('sessionStorage', { getItem: () => null })
  vi.stubGlobal('BroadcastChannel', class {})
  vi.stubGlobal('fetch', async () => answer())
  api = await import(join(import.meta.dirname, '../../packages/console/src/base/api.ts'))
})

// Other test files run in this process.
afterAll(() => vi.unstubAllGlobals())

/** A body that ends before its end. */
function cutBody(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) })
}

test.each([
  ["a proxy's page with status 502", () => new Response('<h1>Bad gateway</h1>', { status: 502 }), 'not_the_service'],
  ["a proxy's login page with status 200", () => new Response('<form>', { status: 200 }), 'not_the_service'],
  ['an answer without a body', () => new Response(null, { status: 200 }), 'not_the_service'],
  ['a connection that breaks inside the answer', () => new Response(cutBody(), { status: 200 }), 'unreachable'],
])('the console reports %s as a problem, and a write as possibly made', async (_, made, code) => {
  answer = made
  const notMade = { code, message: expect.stringMatching(/Check that it runs, then try again\.$/) }
  await expect(api.get('/plans')).rejects.toMatchObject(notMade)
  const perhapsMade = { code, message: expect.stringContaining('The change may have been made') }
  await expect(api.call('POST', '/deliveries/claim', { limit: 1 })).rejects.toMatchObject(perhapsMade)
})

test("the console reports the service's own refusal with its text", async () => {
  const problem = { status: 409, code: 'invalid_state', detail: 'it is settled' }
  answer = () => new Response(JSON.stringify(problem), { status: 409 })
  await expect(api.call('POST', '/deliveries/x/settle', {})).rejects.toMatchObject({ message: 'it is settled' })
})
