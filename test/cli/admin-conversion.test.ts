/** `tidegate admin conversion explain` and `tidegate admin desk`, against answers of the operator API. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { registerAdmin } from '../../src/cli/admin/admin.ts'
import { ADMIN_NOUNS } from '../../src/cli/admin/admin-verbs.ts'

const PRICE = {
  orchestration_id: '0192f0c1-0000-7000-8000-000000000001',
  source_asset: 'BTC',
  source_amount: '1.5',
  destination_asset: 'USD',
  destination_amount: '89999.5',
  price: '59999.666666666666666666',
  price_source: 'BTCUSD',
  evidence: {
    kind: 'market',
    levels: [
      { price: '60000.00', amount: '1', taken_before: '0', taken: '1' },
      { price: '59999.00', amount: '2', taken_before: '0.25', taken: '0.5' },
    ],
  },
  explanation: { adds_up: true, steps: ['2 levels from BTCUSD bids', 'paid as 89999.5'], differences: [] },
  created_at: '2026-11-22T10:00:00.123456Z',
}

const WRONG = {
  ...PRICE,
  explanation: {
    adds_up: false,
    steps: [],
    differences: [{ value: 'destination.amount', stored: '89999.6', recomputed: '89999.5' }],
  },
}

const DESK = { items: [{ asset: 'USD', position: '-900', limit: '1000', hedge: { side: 'BUY', amount: '900' } }] }

const ANSWERS: Readonly<Record<string, object>> = {
  '/admin/v1/orchestrations/right/price': PRICE,
  '/admin/v1/orchestrations/wrong/price': WRONG,
  '/admin/v1/desk': DESK,
}

let server: Server
let url: string
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-admin-'))
  writeFileSync(join(folder, 'operator-token'), 'token\n')
  server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(ANSWERS[request.url ?? '']))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})
afterEach(() => vi.restoreAllMocks())

/** The output of a verb and the error that ended it. */
async function run(...words: string[]): Promise<{ readonly output: string; readonly error: string | undefined }> {
  let output = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += text
    return true
  })
  const program = new Command('tidegate').exitOverride().configureOutput({ writeErr: () => undefined })
  registerAdmin(program)
  try {
    await program.parseAsync(['node', 'tidegate', 'admin', ...words, '--operator-url', url, '--data_dir', folder])
    return { output, error: undefined }
  } catch (error) {
    return { output, error: (error as Error).message }
  }
}

function textOf(answer: object): string | undefined {
  const verbs = ADMIN_NOUNS.find(({ name }) => name === 'conversion')?.verbs
  return verbs?.[0]?.text?.(answer)
}

it('a price that can be recomputed is shown, with exit code 0', async () => {
  const { output, error } = await run('conversion', 'explain', 'right')
  expect(JSON.parse(output)).toEqual(PRICE)
  expect(error).toBeUndefined()
})

it('a price that cannot be recomputed is shown as an error', async () => {
  const { output, error } = await run('conversion', 'explain', 'wrong')
  expect(JSON.parse(output)).toEqual(WRONG)
  expect(error).toBe('the price does not follow from its evidence')
})

it('the noun desk without a verb shows the desk', async () => {
  for (const words of [['desk'], ['desk', 'show']]) {
    const { output, error } = await run(...words)
    expect([JSON.parse(output), error]).toEqual([DESK, undefined])
  }
})

it('the text output shows the levels, the steps, and the differences', () => {
  expect(textOf(PRICE)).toBe(`orchestration  0192f0c1-0000-7000-8000-000000000001
converted      1.5 BTC
into           89999.5 USD
price          59999.666666666666666666
from           BTCUSD
at             2026-11-22T10:00:00.123456Z
adds up        yes

price     amount  taken before  taken
60000.00  1       0             1
59999.00  2       0.25          0.5

2 levels from BTCUSD bids
paid as 89999.5
`)
  expect(textOf(WRONG)).toContain(`adds up        NO
`)
  expect(textOf(WRONG)).toContain(`
value               stored   recomputed
destination.amount  89999.6  89999.5
`)
  expect(textOf({ ...PRICE, evidence: null })).not.toContain('taken')
})
