/** The operator's verbs about imported addresses. */
import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import type { AdminNoun } from './admin-verb.ts'

export const ADDRESS_NOUNS: readonly AdminNoun[] = [
  {
    name: 'address-pool',
    description: 'imported addresses, for networks whose addresses do not follow from a public key',
    verbs: [
      {
        usage: 'import <network>',
        description: 'adds addresses of SOLANA or STELLAR; those that are there already stay as they are',
        example: 'address-pool import SOLANA --file addresses.txt',
        method: 'POST',
        path: '/address-pool',
        options: [
          {
            flags: '--file <file>',
            description: 'file with one address a line, at most 1000',
            read: readLines,
            isRequired: true,
          },
        ],
        body: ({ rest: [network], options }) => ({ network, addresses: options.file }),
      },
      {
        usage: 'list',
        description: 'says how many addresses of each pool are free, and how many used',
        example: 'address-pool list',
        method: 'GET',
        path: '/address-pool',
        columns: ['network', 'free', 'used'],
      },
    ],
  },
]

/** The lines of a file, without blank ones. */
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
