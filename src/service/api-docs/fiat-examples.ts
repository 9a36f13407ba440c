/** The descriptions and examples for the operations on fiat deposit instructions and limits. Pure. */

const PROFILE_ID = '01932b5e-7d1c-7a11-8c3e-27a4b1d05f02'

const FIAT_INSTRUCTIONS = {
  id: '01932b62-5c3d-7e41-a2f9-1b7d6c8e9f05',
  profile_id: PROFILE_ID,
  customer_id: '01932b50-1a2b-7c3d-8e4f-5a6b7c8d9e05',
  account_id: '01932b5e-7d1c-7a10-9a54-6f1d2c9b8e01',
  identity_id: 'person-1001',
  ref_id: 'memo-1001',
  memo_id: 'K7MNP2QRS4TV',
  fiat_network: 'WIRE',
  account_type: 'ABA',
  bank: {
    bank_name: 'Test Bank',
    account_holder: 'Example Exchange',
    account_number: '000123456789',
    routing_number: '021000021',
  },
  status: 'ACTIVE',
  created_at: '2026-11-20T12:01:00.000Z',
}

export const FIAT_AND_LIMIT_EXAMPLES = {
  listFiatDepositInstructions: {
    description: 'The memos of the customer’s rules, and those created without a rule, with their bank details.',
    answered: 'One page of fiat deposit instructions',
    answer: { items: [FIAT_INSTRUCTIONS] },
  },
  getFiatDepositInstructions: { description: '', answered: 'The instructions', answer: FIAT_INSTRUCTIONS },
  createFiatDepositInstructions: {
    description:
      'Creates a memo, which is never reused. Fiat deposits with it are credited to the profile. They are converted by ' +
      'the profile’s rules, if one matches.',
    answered: 'The instructions',
    request: { profile_id: PROFILE_ID, fiat_network: 'WIRE', account_type: 'ABA', ref_id: 'memo-1001' },
    answer: FIAT_INSTRUCTIONS,
  },
  listLimits: {
    description:
      'Limits on what leaves the customer’s profiles: payments, and movements to other profiles. `day` is the last 24 h in ' +
      'hourly buckets. A limit per destination has one item for all destinations without use, and one per used destination.',
    answered: 'The limits in force',
    answer: {
      items: [
        {
          scope: 'customer',
          asset: 'USDC',
          window: 'day',
          limit: '50000',
          used: '12500',
          available: '37500',
          next_release_at: '2026-11-21T10:00:00.000Z',
        },
      ],
    },
  },
} as const
