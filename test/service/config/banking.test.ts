/** The setting `banking.instructions`. */
import { describe, expect, it } from 'vitest'
import { TEST_BANK } from '../../../src/service/config/banking.ts'
import { SETTINGS } from '../../../src/service/config/settings.ts'

const SETTING = SETTINGS['banking.instructions']
const ACCOUNT = { bank_name: 'First Bank', account_holder: 'Example Ltd', account_number: '0012345' }

function problemsOf(value: unknown): readonly string[] {
  const reading = SETTING.read(value)
  return 'problems' in reading ? reading.problems.map(({ path, message }) => `${path} ${message}`) : []
}

describe('bank details', () => {
  it('bank details are read in one member order, and an empty value means none', () => {
    const ABA = { routing_number: '021000021', ...ACCOUNT, bank_address: 'Main Street 1' }
    const reading = SETTING.read({ WIRE: { ABA } })
    expect(JSON.stringify('value' in reading && reading.value.WIRE?.ABA)).toBe(
      JSON.stringify({
        bank_name: 'First Bank',
        bank_address: 'Main Street 1',
        account_holder: 'Example Ltd',
        account_number: '0012345',
        routing_number: '021000021',
      }),
    )
    expect([SETTING.read(''), SETTING.read(null), problemsOf(TEST_BANK)]).toEqual([{ value: {} }, { value: {} }, []])
  })

  it.each([
    ['a missing routing number', { WIRE: { ABA: ACCOUNT } }, '.WIRE.ABA.routing_number is missing, not text'],
    ['a missing SWIFT code', { WIRE: { SWIFT: ACCOUNT } }, '.WIRE.SWIFT.swift_code is missing, not text'],
    ['a missing account holder', { CUBIX: { ANY: { ...ACCOUNT, account_holder: undefined } } }, '.account_holder is'],
    ['a routing number with a wrong checksum', aba('021000022'), 'not 9 digits with a valid checksum'],
    ['a routing number as a number', aba(21000021), 'not text. Put it into quotes'],
    ['a wrong SWIFT code', { WIRE: { SWIFT: { ...ACCOUNT, swift_code: 'bank' } } }, 'not 8 or 11 capital letters'],
    ['an empty name', { CUBIX: { ANY: { ...ACCOUNT, bank_name: ' ' } } }, 'is not text with 1 to 200 characters'],
    ['an unknown member', { CUBIX: { ANY: { ...ACCOUNT, iban: 'X' } } }, '.CUBIX.ANY.iban is not one of bank_name'],
    ['an unknown account type', { WIRE: { IBAN: ACCOUNT } }, '.WIRE.IBAN is not one of ABA, SWIFT'],
    ['an unknown network', { SEPA: {} }, '.SEPA is not one of WIRE, CUBIX'],
    ['a list', [], 'not a map of fiat networks'],
  ])('bank details with %s are refused', (_what, value, problem) => {
    expect(problemsOf(value)).toEqual([expect.stringContaining(problem)])
  })
})

function aba(routing_number: unknown) {
  return { WIRE: { ABA: { ...ACCOUNT, routing_number } } }
}
