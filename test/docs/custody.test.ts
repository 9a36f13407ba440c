/** The custody page is consistent with the code. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { CRYPTO_NETWORK_NAMES } from '../../src/contract/crypto-networks.ts'
import { extendedKeyWords } from '../../src/money/deposit-instructions/derivation/extended-key.ts'
import { WATCHED_FAMILIES } from '../../src/money/deposit-instructions/derivation/key-material.ts'
import { SETTING_KEYS } from '../../src/service/config/settings.ts'
import { addressOrigins } from '../../src/service/keys/address-keys.ts'
import { configOf } from '../support/rest.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/custody.md'), 'utf8')
const rows = page.split('\n').filter((line) => line.startsWith('| ') && line.includes('custody.'))

describe('the custody page', () => {
  it('the custody page has the key of every setting, with the accepted formats and the derivation path', () => {
    const shown = rows.map((row) => row.split(' | ')).map(([, setting, account]) => [setting, account])
    const expected = WATCHED_FAMILIES.map((family) => {
      const [, prefixes, account] = /\((.*)\), (.*)$/.exec(extendedKeyWords(family)) ?? []
      return [`\`custody.${family}.xpub\` (${prefixes})`, account]
    })
    expect(shown).toEqual(expected)
    expect(SETTING_KEYS.filter((key) => key.startsWith('custody.'))).toHaveLength(rows.length)
  })

  it('the custody page names every network', () => {
    const networks = page
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .flatMap((row) => row.match(/\b[A-Z_]{3,}\b/g) ?? [])
    expect(CRYPTO_NETWORK_NAMES.filter((network) => !networks.includes(network))).toEqual([])
  })

  it('the custody page shows the first address of its example key', () => {
    const example = /```yaml\n(.*?)```\n\nthe first address is `(.*?)`/s.exec(page)
    const { custody } = parse(example?.[1] ?? '') as { custody: { bitcoin: { xpub: string } } }
    const [bitcoin] = addressOrigins(configOf({ 'custody.bitcoin.xpub': custody.bitcoin.xpub }))
    expect(bitcoin?.firstAddress).toBe(example?.[2])
  })
})
