/** The descriptions and examples of the operations on destinations. Pure. */
const CUSTOMER_ID = '01932b5e-0a2b-7c3d-8e4f-5a6b7c8d9e0f'
const CURSOR = 'eyJ2IjoxfQ'

const NEW_ADDRESS = {
  ref_id: 'cold-wallet',
  nickname: 'Cold wallet',
  crypto_network: 'ETHEREUM',
  address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
}

const ADDRESS = {
  id: '01932b62-4c1e-7a40-9b1d-7f3e2a5c6d01',
  customer_id: CUSTOMER_ID,
  ...NEW_ADDRESS,
  status: 'ACTIVE',
  usable_at: '2026-11-21T10:15:00.000Z',
  created_at: '2026-11-20T10:15:00.000Z',
  updated_at: '2026-11-20T10:15:00.000Z',
}

const NEW_ACCOUNT = {
  ref_id: 'house-bank',
  fiat_network: 'WIRE',
  owner: { name: 'Example Ltd', type: 'BUSINESS' },
  account: {
    account_type: 'ABA',
    routing_number: '021000021',
    account_number: '9876543210',
    bank_name: 'Example Bank',
  },
  memo: 'invoice 17',
}

const ACCOUNT = {
  id: '01932b62-5d2f-7b51-8c2e-8a4f3b6d7e02',
  customer_id: CUSTOMER_ID,
  ref_id: 'house-bank',
  nickname: 'house-bank',
  fiat_network: 'WIRE',
  owner: NEW_ACCOUNT.owner,
  account: { ...NEW_ACCOUNT.account, routing_number: '****0021', account_number: '****3210' },
  unverified: false,
  memo: 'invoice 17',
  status: 'PENDING',
  usable_at: '2026-11-21T10:15:00.000Z',
  created_at: '2026-11-20T10:15:00.000Z',
  updated_at: '2026-11-20T10:15:00.000Z',
}

const REGISTERED =
  'With the setting `destinations.required`, money leaves only to registered destinations, from `usable_at` on. '

const DELETED =
  'Nothing is paid to it any more, and what has not left waits. Registering it again starts a new wait. Deleting it ' +
  'again is 200 and changes nothing.'

export const DESTINATION_EXAMPLES = {
  listCryptoDestinationAddresses: {
    description: '',
    answered: 'One page of addresses',
    answer: { items: [ADDRESS], next_page_cursor: CURSOR },
  },
  getCryptoDestinationAddress: { description: '', answered: 'The address', answer: ADDRESS },
  createCryptoDestinationAddress: {
    description:
      `${REGISTERED}An address is registered once per network while it is not DELETED: a second one is 409 with ` +
      '`meta.existing`. Addresses are compared without the differences that their notation allows.',
    answered: 'The address: ACTIVE, or PENDING if the operator must approve destinations',
    request: NEW_ADDRESS,
    answer: ADDRESS,
  },
  deleteCryptoDestinationAddress: {
    description: DELETED,
    answered: 'The address, with status DELETED',
    answer: { ...ADDRESS, status: 'DELETED' },
  },
  listFiatAccounts: {
    description: 'Numbers are shown with their last four characters.',
    answered: 'One page of fiat accounts',
    answer: { items: [ACCOUNT], next_page_cursor: CURSOR },
  },
  getFiatAccount: { description: '', answered: 'The fiat account', answer: ACCOUNT },
  createFiatAccount: {
    description:
      `${REGISTERED}\`fiat_account_id\` of a rule or an orchestration is its id. WIRE needs \`account_type\` and ` +
      '`bank_name`: ABA with `routing_number` and `account_number`, SWIFT with `swift` and either `iban` or ' +
      '`account_number`. CUBIX needs `account_number`. The details are encrypted at rest.',
    answered: 'The fiat account: ACTIVE, or PENDING if the operator must approve destinations',
    request: NEW_ACCOUNT,
    answer: ACCOUNT,
  },
  deleteFiatAccount: {
    description: DELETED,
    answered: 'The fiat account, with status DELETED',
    answer: { ...ACCOUNT, status: 'DELETED' },
  },
} as const
