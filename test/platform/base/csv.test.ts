/** Values in CSV, by the program and by the console alike. */
import { expect, it } from 'vitest'
import { csvText } from '../../../packages/console/src/base/csv.ts'
import { usageCsv } from '../../../src/access/metering/csv.ts'
import { csvField } from '../../../src/platform/base/csv.ts'
import { csvLine } from '../../../src/streaming/recordings/export/tables.ts'

const FORMULAS = ['=1+1', '+cmd', '-2+3', '@SUM(A1)', '\tx', '\rx', '\nx', '\uFF1D1', '-', '-1.', '--1', '-1\n']
const PLAIN = ['', 'BTCUSD', '-1', '-0.50', '+3', '1.5', "'=1", 'a=b', '2026-11-01', ' x']
const QUOTED = ['a,b', 'a"b', 'a\nb', 'a\rb']

const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

it('text that a spreadsheet would run gets an apostrophe, and numbers stay as they are, in each CSV', () => {
  const expected = [
    ...FORMULAS.map((text) => [text, quoted(`'${text}`)]),
    ...PLAIN.map((text) => [text, text]),
    ...QUOTED.map((text) => [text, quoted(text)]),
  ]
  for (const [text = '', written] of expected) {
    expect(csvField(text), text).toBe(written)
    expect(csvText([text], []), text).toBe(`${written}\r\n`)
    expect(csvLine([text]), text).toBe(`${written}\n`)
  }
  expect(csvLine([-5, { unscaled: -150, scale: 2 }, true, undefined])).toBe('-5,-1.50,true,\n')
})

it('a customer’s name that begins like a formula is text in the usage CSV', () => {
  const sums = { messages: 1, bytes: 2, connection_seconds: 3, rest_requests: 4, incomplete: false }
  const csv = usageCsv([{ customer_name: '=HYPERLINK("https://x","y")', ...sums }])
  expect(csv.split('\r\n')[1]).toBe(`"'=HYPERLINK(""https://x"",""y"")",1,2,3,4,false`)
})
