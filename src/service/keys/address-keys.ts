/**
 * The key material for deposit addresses: the settings `custody.*`, and in the demo a test seed in the data folder for
 * families without a configured key. For `check-config` and `doctor` it also describes where each network's addresses
 * come from.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type AddressFamily, CRYPTO_NETWORK_NAMES, CRYPTO_NETWORKS } from '../../contract/crypto-networks.ts'
import { type AddressKeys, POOL_NETWORKS } from '../../money/deposit-instructions/allocation.ts'
import type { WatchedFamily } from '../../money/deposit-instructions/derivation/extended-key.ts'
import {
  type KeyMaterial,
  testMaterials,
  WATCHED_FAMILIES,
  watchedMaterial,
} from '../../money/deposit-instructions/derivation/key-material.ts'
import type { Config } from '../config/settings.ts'
import { readOrCreatePrivateFile } from './private-file.ts'

/** Where one family's addresses come from. */
export interface AddressOrigin {
  readonly networks: readonly string[]
  /** The setting, or `imported addresses`. Undefined without either. */
  readonly origin: string | undefined
  /** The key's first address, to be compared with the wallet's. */
  readonly firstAddress?: string
}

export const TEST_SEED_FILE = 'custody-seed'

const SEED_BYTES = 32
const SEED_NOTE = '# For testing only: whoever has this can spend the money at the demo addresses.'

/**
 * Returns a node's keys by family.
 * @param hasTestSeed set by the demo: families without a configured key get one from the seed in the data folder
 */
export function addressKeys(config: Config, hasTestSeed: boolean): AddressKeys {
  const keys = new Map<AddressFamily, KeyMaterial>()
  const materials = hasTestSeed ? testMaterials(readTestSeed(config.data_dir)) : []
  for (const material of materials) keys.set(material.family, material)
  const given = givenKeys(config)
  for (const family of WATCHED_FAMILIES) {
    if (given[family] !== '') keys.set(family, watchedMaterial(family, given[family]))
  }
  return keys
}

/** Reads the seed, which the demo's first start creates. */
function readTestSeed(folder: string): Uint8Array {
  const path = join(folder, TEST_SEED_FILE)
  const text = readOrCreatePrivateFile(path, () => `${SEED_NOTE}\n${randomBytes(SEED_BYTES).toString('hex')}\n`)
  const digits = /^[0-9a-f]{64}$/m.exec(text)?.[0]
  if (digits === undefined) throw new Error(`${path} is damaged: delete it, and a new seed is made at the next start`)
  return Buffer.from(digits, 'hex')
}

/** Where each family's addresses come from with this configuration, without the demo's seed. */
export function addressOrigins(config: Config): readonly AddressOrigin[] {
  const keys = addressKeys(config, false)
  const families = [...new Set(CRYPTO_NETWORK_NAMES.map((network) => CRYPTO_NETWORKS[network]))]
  return families.map((family) => {
    const networks = CRYPTO_NETWORK_NAMES.filter((network) => CRYPTO_NETWORKS[network] === family)
    const key = keys.get(family)
    if (key !== undefined) {
      return { networks, origin: `custody.${family}.xpub`, firstAddress: key.firstAddress }
    }
    return {
      networks,
      origin: POOL_NETWORKS.some((name) => networks.includes(name)) ? 'imported addresses' : undefined,
    }
  })
}

/** Networks for which this configuration, without the demo's seed, can create no address. */
export function networksWithoutAddresses(config: Config): readonly string[] {
  return addressOrigins(config).flatMap(({ networks, origin }) => (origin === undefined ? networks : []))
}

function givenKeys(config: Config): Readonly<Record<WatchedFamily, string>> {
  return {
    bitcoin: config['custody.bitcoin.xpub'],
    bitcoin_cash: config['custody.bitcoin_cash.xpub'],
    litecoin: config['custody.litecoin.xpub'],
    dogecoin: config['custody.dogecoin.xpub'],
    evm: config['custody.evm.xpub'],
  }
}
