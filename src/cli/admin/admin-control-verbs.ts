/** The operator's verbs for pausing assets, networks, pairs and deliveries. */
import { type AdminNoun, listOf, onOrOff } from './admin-verb.ts'

export const CONTROL_NOUNS: readonly AdminNoun[] = [
  {
    name: 'controls',
    description: 'pauses for assets, networks, pairs and deliveries',
    verbs: [
      {
        usage: 'show',
        description: 'shows what is paused',
        example: 'controls show',
        method: 'GET',
        path: '/controls',
      },
      {
        usage: 'pause',
        description: 'replaces the paused assets, networks or pairs by those given, and leaves other kinds unchanged',
        example: 'controls pause --assets USDC --pairs USDC/USD --deliveries on',
        method: 'PATCH',
        path: '/controls',
        options: [
          { flags: '--assets <symbols>', description: 'assets, separated by commas ("" for none)', read: listOf },
          { flags: '--networks <names>', description: 'crypto and fiat networks, likewise', read: listOf },
          { flags: '--pairs <pairs>', description: 'pairs such as USDC/USD, likewise', read: listOf },
          {
            flags: '--deliveries <on|off>',
            description: 'on pauses all deliveries, off resumes them',
            read: onOrOff,
          },
        ],
        body: ({ options: { assets, networks, pairs, deliveries } }) => ({
          paused: {
            ...(assets === undefined ? {} : { assets }),
            ...(networks === undefined ? {} : { networks }),
            ...(pairs === undefined ? {} : { pairs }),
            ...(deliveries === undefined ? {} : { deliveries }),
          },
        }),
      },
    ],
  },
]
