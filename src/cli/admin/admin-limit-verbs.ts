/** The operator's verbs about limits. */
import { InvalidArgumentError } from 'commander'
import { type AdminNoun, textOf } from './admin-verb.ts'

/** `SCOPE/WINDOW/ASSET=AMOUNT`, separated by commas. An empty text means none. */
function limits(text: string): readonly object[] {
  return text
    .split(',')
    .filter((row) => row !== '')
    .map((row) => {
      const [, scope, window, asset, amount] =
        /^(customer|destination)\/(movement|day)\/([A-Z0-9]+)=(.+)$/.exec(row) ?? []
      if (scope !== undefined) return { scope, window, asset, amount }
      throw new InvalidArgumentError(`${row} is not SCOPE/WINDOW/ASSET=AMOUNT, such as customer/day/USDC=50000`)
    })
}

export const LIMIT_NOUNS: readonly AdminNoun[] = [
  {
    name: 'limits',
    description: 'limits on what leaves a customer’s profiles',
    verbs: [
      {
        usage: 'show',
        description: 'shows a customer’s limits and their use',
        example: 'limits show --customer CUSTOMER_ID',
        method: 'GET',
        path: '/limits',
        options: [{ flags: '--customer <customer>', description: 'the customer', named: 'customer', isRequired: true }],
        query: ({ options }) => ({ customer_id: textOf(options.customer) }),
      },
      {
        usage: 'replace',
        description: 'replaces all the customer’s own limits. Others follow limits.defaults',
        example:
          'limits replace --customer CUSTOMER_ID --limits customer/day/USDC=50000,destination/movement/USDC=1000',
        method: 'PUT',
        path: '/limits',
        options: [
          { flags: '--customer <customer>', description: 'the customer', named: 'customer', isRequired: true },
          {
            flags: '--limits <limits>',
            description: 'SCOPE/WINDOW/ASSET=AMOUNT, separated by commas ("" for none)',
            read: limits,
            isRequired: true,
          },
        ],
        body: ({ options }) => ({ customer_id: options.customer, limits: options.limits }),
      },
    ],
  },
]
