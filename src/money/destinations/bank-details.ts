/**
 * A fiat account's owner and numbers: what each network needs, the form in which they are stored, and what is shown of
 * them. Stored details are encrypted and bound to their record. Pure, except for the key.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import type { FiatAccountType, FiatNetwork } from '../../contract/assets.ts'
import { type FieldError, Problem } from '../../platform/http/problem.ts'

export interface BankAccount {
  readonly account_type?: FiatAccountType
  readonly account_number?: string
  readonly routing_number?: string
  readonly iban?: string
  readonly swift?: string
  readonly bank_name?: string
}

export interface BankDetails {
  readonly owner: { readonly name: string; readonly type: 'INDIVIDUAL' | 'BUSINESS'; readonly address?: string }
  readonly account: BankAccount
}

type Member = keyof BankAccount

/** The members that an account must have, those that it may have too, and those of which it has one. */
interface Form {
  readonly needs: readonly Member[]
  readonly allows: readonly Member[]
  readonly oneOf?: readonly [Member, Member]
}

const FORMS: Readonly<Record<FiatAccountType | 'CUBIX', Form>> = {
  ABA: { needs: ['account_type', 'routing_number', 'account_number', 'bank_name'], allows: [] },
  SWIFT: { needs: ['account_type', 'swift', 'bank_name'], allows: [], oneOf: ['iban', 'account_number'] },
  CUBIX: { needs: ['account_number'], allows: ['bank_name'] },
}

const CHECKS: Partial<Readonly<Record<Member, readonly [fits: (text: string) => boolean, rule: string]>>> = {
  account_number: [
    (text) => /^[0-9A-Za-z][0-9A-Za-z-]{3,33}$/.test(text),
    'must be 4 to 34 digits, letters or hyphens',
  ],
  routing_number: [isRoutingNumber, 'must be 9 digits with the ABA check digit'],
  iban: [isIban, 'must be an IBAN with its check digits'],
  swift: [(text) => /^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(text), 'must be a BIC with 8 or 11 characters'],
}

/** The errors in a normalised account, each with its member's pointer. */
export function accountFaults(network: FiatNetwork, account: BankAccount): readonly FieldError[] {
  const faults: FieldError[] = []
  const add = (member: Member, detail: string) => faults.push({ pointer: `/account/${member}`, detail })
  const name = network === 'CUBIX' ? 'CUBIX' : account.account_type
  if (name === undefined) {
    add('account_type', `is required for ${network}`)
    return faults
  }
  const { needs, allows, oneOf = [] } = FORMS[name]
  const words = name === network ? network : `${network} with ${name}`
  for (const member of needs) if (account[member] === undefined) add(member, `is required for ${words}`)
  const given = oneOf.filter((member) => account[member] !== undefined)
  const [first, second] = oneOf
  if (first !== undefined && second !== undefined && given.length !== 1) {
    add(first, `is required for ${words}, or ${second}, and not both`)
  }
  for (const member of Object.keys(account) as Member[]) {
    if (![...needs, ...allows, ...oneOf].includes(member)) add(member, `is not allowed for ${words}`)
    const [fits, rule] = CHECKS[member] ?? []
    if (fits !== undefined && rule !== undefined && !fits(account[member] as string)) add(member, rule)
  }
  return faults
}

/** The account with IBAN and BIC in capital letters and without blanks. */
export function normalisedAccount(account: BankAccount): BankAccount {
  const plain = (text: string) => text.replaceAll(/\s/g, '').toUpperCase()
  const { iban, swift } = account
  return {
    ...account,
    ...(iban === undefined ? {} : { iban: plain(iban) }),
    ...(swift === undefined ? {} : { swift: plain(swift) }),
  }
}

const SHOWN_CHARACTERS = 4
const NUMBERS: readonly Member[] = ['account_number', 'routing_number', 'iban']

/** The account with only its numbers' last four characters. */
export function maskedAccount(account: BankAccount): BankAccount {
  const shown = Object.entries(account).map(([member, text]: [string, string]) => {
    if (!NUMBERS.includes(member as Member)) return [member, text]
    return [member, `****${text.length > SHOWN_CHARACTERS ? text.slice(-SHOWN_CHARACTERS) : ''}`]
  })
  return Object.fromEntries(shown) as BankAccount
}

/** @throws {Problem} 503 without a key */
export function encryptDetails(key: EncryptionKey | undefined, id: string, details: BankDetails): string {
  if (key === undefined) throw keyMissing('cannot store bank details')
  return key.encrypt(Buffer.from(JSON.stringify(details)), rowOf(id))
}

/** Whether this is the key with which the details were encrypted. */
export function canDecrypt(key: EncryptionKey | undefined, text: string): key is EncryptionKey {
  return key !== undefined && text.split('.')[1] === key.id
}

/** @throws {Problem} 503 without the key with which they were encrypted */
export function decryptDetails(key: EncryptionKey | undefined, id: string, text: string): BankDetails {
  if (!canDecrypt(key, text)) throw keyMissing('cannot read bank details')
  return JSON.parse(key.decrypt(text, rowOf(id)).toString()) as BankDetails
}

function keyMissing(what: string): Problem {
  return new Problem('encryption_key_missing', `this process ${what}: the operator must set its keys.encryption_key`)
}

function rowOf(id: string): string {
  return `destinations.details/${id}`
}

/** Nine digits: their sum, weighted 3, 7 and 1, is a multiple of ten. */
function isRoutingNumber(text: string): boolean {
  if (!/^\d{9}$/.test(text)) return false
  const sum = [...text].reduce((total, digit, index) => total + Number(digit) * ([3, 7, 1][index % 3] as number), 0)
  return sum % 10 === 0 && sum > 0
}

/** ISO 13616: with the first four characters at the end and letters as numbers, the remainder by 97 is 1. */
function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(text)) return false
  const digits = [...`${text.slice(4)}${text.slice(0, 4)}`].map((letter) => Number.parseInt(letter, 36)).join('')
  return BigInt(digits) % 97n === 1n
}
