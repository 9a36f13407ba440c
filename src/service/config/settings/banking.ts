/** Where fiat deposits are paid. */
import { bankInstructions } from '../banking.ts'

export const BANKING_SETTINGS = {
  'banking.instructions': bankInstructions({
    live: true,
    meaning:
      'bank details for fiat deposits, by network and account type: {WIRE: {ABA: {bank_name, account_holder, account_number, routing_number}, SWIFT: {…, swift_code}}, CUBIX: {ANY: {…}}}. A network without them cannot be a rule’s source',
  }),
} as const
