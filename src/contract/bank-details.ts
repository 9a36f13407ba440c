/**
 * Bank details for fiat deposits: the setting `banking.instructions`, and the members that each network needs. A payer
 * sends money to this bank account, with the memo that identifies the profile. Pure.
 */
import type { FiatAccountType, FiatNetwork } from './assets.ts'

/** The members of bank details, in answer order. */
export const BANK_MEMBERS = [
  'bank_name',
  'bank_address',
  'account_holder',
  'account_holder_address',
  'account_number',
  'routing_number',
  'swift_code',
] as const

export type BankMember = (typeof BANK_MEMBERS)[number]

/** One bank account. Its members are in the order of BANK_MEMBERS. */
export type BankDetails = Readonly<Partial<Record<BankMember, string>>>

/** By network and account type. CUBIX has one bank account, under ANY. */
export type BankInstructions = Readonly<Partial<Record<FiatNetwork, Readonly<Record<string, BankDetails>>>>>

const EVERYWHERE = ['bank_name', 'account_holder', 'account_number'] as const

/** The required members, by network and account type. */
export const BANK_FORMS: Readonly<Record<FiatNetwork, Readonly<Record<string, readonly BankMember[]>>>> = {
  WIRE: { ABA: [...EVERYWHERE, 'routing_number'], SWIFT: [...EVERYWHERE, 'swift_code'] },
  CUBIX: { ANY: EVERYWHERE },
}

/** A fiat source or memo, as far as its bank details depend on it. */
export interface FiatPlace {
  readonly network: FiatNetwork
  readonly account_type?: FiatAccountType | null | undefined
}

/** The bank account to which deposits for this place are paid. Undefined: none is configured. */
export function bankFor(instructions: BankInstructions, { network, account_type }: FiatPlace): BankDetails | undefined {
  return instructions[network]?.[network === 'CUBIX' ? 'ANY' : (account_type ?? '')]
}
