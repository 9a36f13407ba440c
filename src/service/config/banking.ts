/** The kind of the setting `banking.instructions`: bank details by fiat network and account type. */
import { FIAT_NETWORKS } from '../../contract/assets.ts'
import { BANK_FORMS, BANK_MEMBERS, type BankDetails, type BankInstructions } from '../../contract/bank-details.ts'
import { isObject } from '../../platform/base/json-value.ts'
import { given, type Problem, type Setting } from './setting-kinds.ts'

const CHARACTERS_MAX = 200

/** A test bank for every fiat network. Its numbers belong to no account. */
export const TEST_BANK: BankInstructions = {
  WIRE: {
    ABA: testAccount({ routing_number: '021000021' }),
    SWIFT: testAccount({ swift_code: 'TESTUS33XXX' }),
  },
  CUBIX: { ANY: testAccount({}) },
}

function testAccount(numbers: BankDetails): BankDetails {
  const account = { bank_name: 'Test Bank', account_holder: 'Tidegate demo', account_number: '000123456789' }
  return { ...account, ...numbers }
}

export function bankInstructions(common: {
  readonly live?: true
  readonly meaning: string
}): Setting<BankInstructions> {
  return {
    ...common,
    initial: {},
    accepts: 'a map from networks to account types to bank details',
    secret: false,
    structured: true,
    show: (value) => value,
    read(raw) {
      if (raw === null || raw === '') return { value: {} }
      if (!isObject(raw)) return { problems: [{ path: '', message: `${given(raw)}, not a map of fiat networks` }] }
      const problems: Problem[] = []
      const networks = Object.entries(raw).flatMap(([network, types]) => {
        const forms = FIAT_NETWORKS.includes(network as never)
          ? BANK_FORMS[network as keyof typeof BANK_FORMS]
          : undefined
        if (forms === undefined) {
          problems.push({ path: `.${network}`, message: `is not one of ${FIAT_NETWORKS.join(', ')}` })
          return []
        }
        return [[network, readTypes(`.${network}`, types, forms, problems)] as const]
      })
      return problems.length > 0 ? { problems } : { value: Object.fromEntries(networks) }
    },
  }
}

function readTypes(
  path: string,
  raw: unknown,
  forms: (typeof BANK_FORMS)[keyof typeof BANK_FORMS],
  problems: Problem[],
): Readonly<Record<string, BankDetails>> {
  const names = Object.keys(forms).join(', ')
  if (!isObject(raw)) {
    problems.push({ path, message: `${given(raw)}, not a map with ${names}` })
    return {}
  }
  const types = Object.entries(raw).map(([type, details]) => {
    const required = forms[type]
    if (required !== undefined) return [type, readDetails(`${path}.${type}`, details, required, problems)] as const
    problems.push({ path: `${path}.${type}`, message: `is not one of ${names}` })
    return [type, {}] as const
  })
  return Object.fromEntries(types)
}

function readDetails(
  path: string,
  raw: unknown,
  required: readonly (keyof BankDetails)[],
  problems: Problem[],
): BankDetails {
  if (!isObject(raw)) {
    problems.push({ path, message: `${given(raw)}, not a map with ${required.join(', ')}` })
    return {}
  }
  for (const name of Object.keys(raw)) {
    if (BANK_MEMBERS.some((member) => member === name)) continue
    problems.push({ path: `${path}.${name}`, message: `is not one of ${BANK_MEMBERS.join(', ')}` })
  }
  const members = BANK_MEMBERS.flatMap((name) => {
    const value = raw[name]
    if (value === undefined && !required.includes(name)) return []
    const message = memberFault(name, value)
    if (message !== undefined) problems.push({ path: `${path}.${name}`, message })
    return [[name, value] as const]
  })
  return Object.fromEntries(members)
}

/** YAML numbers are refused because their text is lost, such as leading zeros. */
function memberFault(name: keyof BankDetails, value: unknown): string | undefined {
  if (typeof value !== 'string') return `${given(value)}, not text${value === undefined ? '' : '. Put it into quotes'}`
  if (value.trim() === '' || value.length > CHARACTERS_MAX) return `is not text with 1 to ${CHARACTERS_MAX} characters`
  if (name === 'routing_number' && !isRoutingNumber(value)) return `${given(value)}, not 9 digits with a valid checksum`
  if (name === 'swift_code' && !/^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(value)) {
    return `${given(value)}, not 8 or 11 capital letters and digits such as BANKUS33`
  }
  return undefined
}

/** The weights 3, 7 and 1 make the digits' sum a multiple of ten. */
function isRoutingNumber(text: string): boolean {
  if (!/^[0-9]{9}$/.test(text)) return false
  const sum = [...text].reduce((total, digit, index) => total + Number(digit) * ([3, 7, 1][index % 3] as number), 0)
  return sum % 10 === 0
}
