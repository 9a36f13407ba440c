/**
 * Settings whose default a store keeps from its first start. A new store has the verb's default, and one that was in use
 * before the setting existed keeps the behaviour that it had. Every node and every later version reads the same rows.
 * An explicit value always applies.
 */
import { assert } from '../../platform/base/assert.ts'
import { DEMO_DEFAULTS } from './markets.ts'
import type { Setting } from './setting-kinds.ts'
import { type Config, SETTING_KEYS, SETTINGS, type SettingKey } from './settings.ts'
import type { Origins } from './settings-in-force.ts'

/** A default in a store. */
export interface StoreDefault {
  readonly key: string
  /** As in a configuration file. */
  readonly value: unknown
  /** Whether the store was in use before the setting existed. */
  readonly isEarlier: boolean
}

/** The origin of a value that the store keeps. */
const STORE_ORIGIN = 'default of this store'

interface Settings {
  readonly config: Config
  readonly origins: Origins
}

/** The defaults that a new store keeps. */
export function newStoreDefaults(isDemo: boolean): readonly StoreDefault[] {
  return KEPT_KEYS.map((key) => {
    const row = settingOf(key)
    const value = isDemo && isDemoKey(key) ? DEMO_DEFAULTS[key] : row.show(row.initial)
    return { key, value, isEarlier: false }
  })
}

/** The settings in force with a store: its own defaults replace those of the verb. */
export function withStoreDefaults<Result extends Settings>(result: Result, defaults: readonly StoreDefault[]): Result {
  const kept = defaultsInForce(result.origins, defaults)
  const values = kept.map(({ key, value }) => {
    const reading = settingOf(key as SettingKey).read(value)
    assert('value' in reading, `the store keeps an invalid default for ${key}`)
    return [key, reading.value]
  })
  return {
    ...result,
    config: { ...result.config, ...Object.fromEntries(values) },
    origins: { ...result.origins, ...Object.fromEntries(kept.map(({ key }) => [key, STORE_ORIGIN])) },
  }
}

/** Keys without an explicit value, in a store that was in use before them: protection that is still off. */
export function earlierKeys(origins: Origins, defaults: readonly StoreDefault[]): readonly string[] {
  return defaultsInForce(origins, defaults).flatMap(({ key, isEarlier }) => (isEarlier ? [key] : []))
}

const KEPT_KEYS = SETTING_KEYS.filter((key) => settingOf(key).isKeptByStore)

/** Rows of a later version are left out. */
function defaultsInForce(origins: Origins, defaults: readonly StoreDefault[]): readonly StoreDefault[] {
  const isUnset = (key: SettingKey) => origins[key] === 'default' || origins[key] === STORE_ORIGIN
  return defaults.filter(({ key }) => KEPT_KEYS.some((kept) => kept === key && isUnset(kept)))
}

function settingOf(key: SettingKey): Setting<unknown> {
  return SETTINGS[key] as Setting<unknown>
}

function isDemoKey(key: SettingKey): key is keyof typeof DEMO_DEFAULTS {
  return Object.hasOwn(DEMO_DEFAULTS, key)
}
