/** The console's CSV files about money, without a browser. */
import { join } from 'node:path'
import { expect, test } from 'vitest'

test.each([
  [
    'a shared crypto account',
    { crypto: { address: 'GA7Q', network: 'STELLAR', memo: '42' } },
    ['GA7Q', 'STELLAR', '42'],
  ],
  ['a bank account', { fiat: { fiat_account_id: 'f1', network: 'CUBIX', memo: 'rent' } }, ['f1', 'CUBIX', 'rent']],
  ['an address without a memo', { crypto: { address: '0xAb', network: 'BASE' } }, ['0xAb', 'BASE', undefined]],
])('the CSV of deliveries has all that a person needs to pay to %s', async (_, destination, cells) => {
  // Not by a literal name: its types would bring the browser's names into all tests.
  const { DELIVERY_CSV } = await import(join(import.meta.dirname, '../../packages/console/src/pages/money-csv.ts'))
  const cell = (wanted: string) =>
    DELIVERY_CSV.find(({ name }: { readonly name: string }) => name === wanted)?.text({ destination })
  expect(['destination', 'network', 'memo'].map(cell)).toEqual(cells)
})
