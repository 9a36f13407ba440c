/**
 * The doctor's checks on deposit addresses: the keys from which they are derived, a demo's test seed, and the free
 * imported addresses.
 */
import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../../platform/base/error-code.ts'
import type { Config } from '../config/settings.ts'
import { addressOrigins, TEST_SEED_FILE } from '../keys/address-keys.ts'
import { bad, type Finding, ok, reasonOf, warn } from './finding.ts'

const NAME = 'addresses'
/** Other users' permission bits. */
const OTHERS = 0o077

/** Each key's first address is shown, to be compared with the wallet's. */
export function examineAddressKeys(config: Config): Finding[] {
  const origins = addressOrigins(config)
  const keys = origins.flatMap(({ networks, origin, firstAddress }) =>
    firstAddress === undefined ? [] : [ok(NAME, `${networks.join(', ')} from ${origin}, the first is ${firstAddress}`)],
  )
  const without = origins.flatMap(({ networks, origin }) => (origin === undefined ? networks : []))
  const rest = without.length === 0 ? [] : [ok(NAME, `no key in custody.* for ${without.join(', ')}`)]
  return [...keys, ...rest]
}

/** No finding when there is no test seed. */
export function examineTestSeed(config: Config): Finding[] {
  const path = join(config.data_dir, TEST_SEED_FILE)
  let stats: Stats
  try {
    stats = statSync(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    return [bad(NAME, `${path} cannot be read (${reasonOf(error)})`, `run this as the service's user`)]
  }
  const detail = `${path} is the test seed of a demo`
  if ((stats.mode & OTHERS) !== 0) return [warn(NAME, `${detail}, readable by other users`, `chmod 600 ${path}`)]
  return [ok(NAME, `${detail}, but serve does not use it`)]
}

interface PoolCount {
  readonly network: string
  readonly free: number
  readonly used: number
}

/** Reports the pools with imported addresses, and no pool without any. */
export function poolFindings(pools: readonly PoolCount[]): Finding[] {
  return pools.flatMap(({ network, free, used }) => {
    if (free + used === 0) return []
    const detail = `${network}: ${free} of ${free + used} imported addresses are free`
    return [
      free > 0 ? ok(NAME, detail) : warn(NAME, detail, `tidegate admin address-pool import ${network} --file FILE`),
    ]
  })
}
