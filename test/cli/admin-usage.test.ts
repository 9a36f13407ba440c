/** `tidegate admin usage --csv` against a list with several pages. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Command } from 'commander'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { registerAdmin } from '../../src/cli/admin/admin.ts'
import { until } from '../support/awaited.ts'

const PAGES: Readonly<Record<string, object>> = {
  '': { items: [{ customer_id: 'a', messages: 1 }], next_page_cursor: 'second' },
  second: { items: [{ customer_id: 'b', messages: 2 }], next_page_cursor: 'third' },
  third: { items: [{ customer_id: 'c', messages: 3 }] },
}

let server: Server
const limits: (string | null)[] = []
beforeAll(async () => {
  server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://a')
    limits.push(searchParams.get('limit'))
    response.end(JSON.stringify(PAGES[searchParams.get('page_cursor') ?? '']))
  }).listen(0, '127.0.0.1')
  await until('the listener', () => server.listening)
})
afterAll(() => server.close())
afterEach(() => vi.unstubAllEnvs())

async function usage(...words: string[]): Promise<string> {
  vi.stubEnv('TIDEGATE_OPERATOR_TOKEN', 'a-token-for-this-test')
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const program = new Command('tidegate').exitOverride()
  registerAdmin(program)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    await program.parseAsync(['node', 'tidegate', 'admin', 'usage', ...words, '--operator-url', url])
    return write.mock.calls.map(([text]) => text).join('')
  } finally {
    vi.restoreAllMocks()
  }
}

it('usage as CSV has the rows of every page', async () => {
  expect(await usage('--csv')).toBe('customer_id,messages\r\na,1\r\nb,2\r\nc,3\r\n')
  expect(limits).toEqual(['1000', '1000', '1000'])
})

it('usage as CSV has one page where a page is requested, and JSON shows the next page’s cursor', async () => {
  expect(await usage('--csv', '--limit', '1')).toBe('customer_id,messages\r\na,1\r\n')
  expect(await usage('--csv', '--page-cursor', 'third')).toBe('customer_id,messages\r\nc,3\r\n')
  expect(JSON.parse(await usage())).toEqual(PAGES[''])
})
