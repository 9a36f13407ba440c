/** Text from other programs on the terminal: it neither controls the terminal nor shows characters in another order. */
import { afterAll, describe, expect, it, vi } from 'vitest'
import { listText } from '../../src/cli/admin/admin-output.ts'
import { createProgram, oneLine } from '../../src/cli/program.ts'
import { printChecks } from '../../src/cli/terminal/check-results.ts'
import { printable, printableJson } from '../../src/cli/terminal/styled-line.ts'
import { HEADER, recordedMarket, recordingFolder, writeRecording } from '../support/recording-file.ts'

const folder = recordingFolder()
afterAll(() => folder.remove())

/** What is written to stdout meanwhile. */
async function outputOf(work: () => unknown): Promise<string> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    await work()
    return write.mock.calls.map(([text]) => text).join('')
  } finally {
    vi.restoreAllMocks()
  }
}

describe('text from other programs', () => {
  it('a name cannot reverse the text after it in a table', () => {
    const text = listText({ items: [{ name: 'acme\u202e', amount: '10' }] }, ['name', 'amount'])
    expect(text).toBe('name   amount\nacme?  10\n')
    expect(printable('\u200fa\u061cb\u2066c\u2069d\u009b')).toBe('?a?b?c?d?')
    expect(printable('Zürich 東京 €')).toBe('Zürich 東京 €')
  })

  it('JSON has the same values, with everything escaped that could control a terminal', () => {
    const value = { name: 'a\u009b2Jb\u202ec\u007f\u0007', city: 'Zürich' }
    const text = printableJson(value)
    expect(text).toBe('{"name":"a\\u009b2Jb\\u202ec\\u007f\\u0007","city":"Zürich"}')
    expect(JSON.parse(text)).toEqual(value)
    expect(printableJson({ a: 1 }, 2)).toBe('{\n  "a": 1\n}')
  })

  it('an error that quotes a service is one line without control characters', () => {
    expect(oneLine('not_found (404): \u001b[2J\r\n  gone\t\u202e')).toBe('not_found (404): ?[2J gone ?')
  })

  it('the answer of a checked endpoint does not control the terminal', async () => {
    const print = () => printChecks('endpoint', [{ name: 'accepts', rule: 'accepts', violation: '\u001b[2J' }], false)
    expect(await outputOf(() => expect(print).toThrow('breaks 1 of 1'))).toBe('BROKEN  accepts  accepts: ?[2J\n')
  })

  it('the description of a recording by another program does not control the terminal', async () => {
    const path = folder.next()
    const market = { ...recordedMarket('BTC'), sources: ['\u001b]0;title\u0007'] }
    await writeRecording(path, [], { ...HEADER, writtenBy: 'other\u202e\nlines', markets: [market] })
    const text = await outputOf(() => createProgram().parseAsync(['node', 'tidegate', 'replay', path, '--info']))
    expect(text).toContain(`${path}: format 1, written by other??lines\n`)
    expect(text).toContain('from ?]0;title?\n')
  })
})
