/** The operator's verbs for deposit addresses and imported address pools. */
import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import type { AdminNoun } from './admin-verb.ts'

export const ADDRESS_NOUNS: readonly AdminNoun[] = [
  {
    name: 'deposit-address',
    description: 'all customers’ deposit addresses',
    verbs: [
      {
        usage: 'find <address>',
        description: 'shows a deposit address’s owner, in any notation',
        example: 'deposit-address find 0x52908400098527886E0F7030069857D2E4169EE7',
        method: 'GET',
        path: '/deposit-addresses',
        query: ({ rest: [address] }) => ({ address }),
        columns: ['address', 'crypto_network', 'customer_id', 'account_id', 'profile_id', 'id', 'created_at'],
      },
    ],
  },
  {
    name: 'address-pool',
    description: 'imported addresses, for networks whose addresses cannot be derived from a public key',
    verbs: [
      {
        usage: 'import <network>',
        description: 'adds addresses for SOLANA or STELLAR, and changes no existing ones',
        example: 'address-pool import SOLANA --file addresses.txt',
        method: 'POST',
        path: '/address-pool',
        options: [
          {
            flags: '--file <file>',
            description: 'one address per line, at most 1000',
            read: readLines,
            isRequired: true,
          },
        ],
        body: ({ rest: [network], options }) => ({ network, addresses: options.file }),
      },
      {
        usage: 'list',
        description: 'shows each pool’s free and used addresses',
        example: 'address-pool list',
        method: 'GET',
        path: '/address-pool',
        columns: ['network', 'free', 'used'],
      },
    ],
  },
]

/** A file's non-empty lines. */
function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}
