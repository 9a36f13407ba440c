/** The effective settings for people: each with its value, masked where it is secret, and the value's origin. */
import type { Setting } from './setting-kinds.ts'
import { type Config, isLive, SETTING_KEYS, SETTINGS, type SettingKey } from './settings.ts'

/** A flag, a variable, a file or `default`, by key. */
export type Origins = Readonly<Record<SettingKey, string>>

export interface SettingInForce {
  readonly key: SettingKey
  /** As in a configuration file. */
  readonly value: unknown
  readonly origin: string
  /** Whether a reload applies a new value. */
  readonly live: boolean
  readonly meaning: string
}

/** Where a program that starts the service has set every value. */
export const SET_BY_PROGRAM = Object.fromEntries(SETTING_KEYS.map((key) => [key, 'program'])) as Origins

const MASK = '********'

export function settingsInForce(config: Config, origins: Origins): readonly SettingInForce[] {
  return SETTING_KEYS.map((key) => ({
    key,
    value: shownValue(config, key),
    origin: origins[key],
    live: isLive(key),
    meaning: SETTINGS[key].meaning,
  }))
}

/** The value as a configuration file would have it; the mask for a secret that is set. */
export function shownValue(config: Config, key: SettingKey): unknown {
  const row = SETTINGS[key] as Setting<unknown>
  const value = config[key]
  return row.secret && value !== '' ? MASK : row.show(value)
}
