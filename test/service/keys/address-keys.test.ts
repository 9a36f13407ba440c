/** Where the keys of a node's deposit addresses come from, and which key material is refused. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HDKey } from '@scure/bip32'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { SETTING_KEYS } from '../../../src/service/config/settings.ts'
import { examineAddressKeys, examineTestSeed } from '../../../src/service/doctor/addresses.ts'
import { addressKeys, addressOrigins, networksWithoutAddresses } from '../../../src/service/keys/address-keys.ts'
import { accountPublicKey } from '../../support/address-keys.ts'
import { configOf } from '../../support/rest.ts'

const FAMILIES = ['bitcoin', 'bitcoin_cash', 'litecoin', 'dogecoin', 'evm', 'solana', 'stellar']
const CUSTODY = SETTING_KEYS.filter((key) => key.startsWith('custody.'))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-keys-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('configured address keys', () => {
  it('configured address keys exist for the configured assets and for no others', () => {
    const config = configOf({ 'custody.evm.xpub': accountPublicKey(1), data_dir: folder })
    expect([...addressKeys(config, false).keys()]).toEqual(['evm'])
    expect(networksWithoutAddresses(config)).toEqual(['BITCOIN', 'BITCOIN_CASH', 'LITECOIN', 'DOGECOIN'])
    const evm = addressOrigins(config).find(({ networks }) => networks.includes('BASE'))
    expect(evm).toEqual({
      networks: ['ETHEREUM', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'AVALANCHE', 'BNB'],
      origin: 'custody.evm.xpub',
      firstAddress: addressKeys(config, false).get('evm')?.firstAddress,
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it.each(CUSTODY)(
    'configured address keys accept a public key for %s, reject a private one, and repeat neither',
    (key) => {
      const account = HDKey.fromMasterSeed(Buffer.alloc(32, 5)).derive("m/84'/0'/0'")
      const secrets = [
        account.privateExtendedKey,
        `${account.privateExtendedKey.slice(0, 80)}`,
        'KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWn',
        'legal winner thank year wave sausage worth useful legal winner thank yellow',
      ]
      for (const secret of secrets) {
        const layers = [
          { flags: { [key]: secret }, environment: {} },
          { flags: {}, environment: { [`TIDEGATE_${key.toUpperCase().replaceAll('.', '_')}`]: secret } },
        ]
        for (const layer of layers) {
          const result = loadConfig({ ...layer, file: undefined, readFile: () => '' })
          expect(result.ok).toBe(false)
          const texts = result.ok ? [] : result.problems.map(describeProblem)
          expect(texts).toHaveLength(1)
          expect(texts[0]).toContain(key)
          expect(texts[0]).not.toContain(secret.slice(5, 15))
        }
      }
      expect(configOf({ [key]: account.publicExtendedKey })[key]).toBe(account.publicExtendedKey)
      expect(configOf({ [key]: '' })[key]).toBe('')
    },
  )
})

describe('the test seed of the demo', () => {
  it("the demo's test seed is created once, readable by its owner only, names its purpose, and has keys for every network", () => {
    const config = configOf({ data_dir: folder })
    const first = addressKeys(config, true)
    expect([...first.keys()].toSorted()).toEqual(FAMILIES.toSorted())
    expect(readdirSync(folder)).toEqual(['custody-seed'])
    const path = join(folder, 'custody-seed')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).toMatch(/^# For testing only: .*\n[0-9a-f]{64}\n$/)
    const second = addressKeys(config, true)
    for (const [family, { addressAt }] of first) expect(second.get(family)?.addressAt(7)).toBe(addressAt(7))
  })

  it("the demo's test seed is not used where a key is configured", () => {
    const config = configOf({ 'custody.bitcoin.xpub': accountPublicKey(3), data_dir: folder })
    const { firstAddress } = addressKeys(config, false).get('bitcoin') ?? { firstAddress: '' }
    expect(addressKeys(config, true).get('bitcoin')?.firstAddress).toBe(firstAddress)
  })

  it("the demo's test seed is not replaced when it is damaged, because its earlier addresses would be lost", () => {
    const path = join(folder, 'custody-seed')
    writeFileSync(path, 'half a se')
    expect(() => addressKeys(configOf({ data_dir: folder }), true)).toThrow(`${path} is damaged`)
    expect(readFileSync(path, 'utf8')).toBe('half a se')
  })
})

describe('doctor', () => {
  const findings = (flags: Readonly<Record<string, string>>) =>
    examineAddressKeys(configOf({ data_dir: folder, ...flags }))

  it('doctor shows the first address of each key, and names the assets without one', () => {
    const key = accountPublicKey(9)
    const config = configOf({ 'custody.bitcoin.xpub': key })
    const { firstAddress } = addressKeys(config, false).get('bitcoin') ?? { firstAddress: '' }
    const detail = findings({ 'custody.bitcoin.xpub': key }).map((finding) => `${finding.verdict} ${finding.detail}`)
    expect(detail).toEqual([
      `ok BITCOIN from custody.bitcoin.xpub, the first is ${firstAddress}`,
      'ok no key in custody.* for BITCOIN_CASH, LITECOIN, DOGECOIN, ETHEREUM, POLYGON_POS, BASE, ARBITRUM_ONE, AVALANCHE, BNB',
    ])
  })

  it('doctor warns of a test seed that other users can read', () => {
    addressKeys(configOf({ data_dir: folder }), true)
    const path = join(folder, 'custody-seed')
    const seed = () => examineTestSeed(configOf({ data_dir: folder }))
    expect(seed()).toMatchObject([
      { verdict: 'ok', detail: `${path} is the test seed of a demo, but serve does not use it` },
    ])
    chmodSync(path, 0o644)
    expect(seed()).toMatchObject([{ verdict: 'warn', next: `chmod 600 ${path}` }])
  })
})
