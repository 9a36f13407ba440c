/**
 * The configuration on the command line: `--config FILE` and one flag for every setting, generated from the settings
 * table. Verbs read the configuration here. An error lists all its problems.
 */
import { type Command, Option } from 'commander'
import { readRegularFile } from '../../platform/base/regular-file.ts'
import { feedMemberOf } from '../../service/config/feeds.ts'
import { type ConfigResult, loadConfig, type VerbDefaults } from '../../service/config/load.ts'
import { describeProblem } from '../../service/config/problem-list.ts'
import { isRemoved, REMOVED_SETTINGS } from '../../service/config/removed-settings.ts'
import type { Setting } from '../../service/config/setting-kinds.ts'
import { type Config, SETTING_KEYS, SETTINGS, type SettingKey } from '../../service/config/settings.ts'

/** Largest configuration file, and largest file with a secret. Values have their own limits, in characters. */
const FILE_BYTES_MAX = 4_194_304

export const CONFIG_MEANING = 'YAML configuration file (default: the one in TIDEGATE_CONFIG)'

/** Adds the configuration options to a verb. */
export function addConfigFlags(command: Command): Command {
  command.option('--config <file>', CONFIG_MEANING)
  for (const key of SETTING_KEYS) {
    const row = SETTINGS[key] as Setting<unknown>
    const initial = row.structured || row.initial === '' ? '' : ` (default: ${row.initial})`
    command.addOption(new Option(`--${key} <value>`, row.meaning + initial).helpGroup('Configuration keys:'))
  }
  // They are reported by name when the configuration is read.
  for (const key of Object.keys(REMOVED_SETTINGS)) command.addOption(new Option(`--${key} <value>`).hideHelp())
  return command
}

/** Also adds the options for single feeds' addresses, with names from the configuration. */
export function addFeedFlags(command: Command, args: readonly string[]): void {
  const has = (flag: string) => command.options.some(({ long }) => long === flag)
  if (!has('--feeds')) return
  for (const arg of args) {
    const [flag = ''] = arg.split('=')
    if (!flag.startsWith('--') || feedMemberOf(flag.slice(2)) === undefined || has(flag)) continue
    command.addOption(new Option(`${flag} <value>`).hideHelp())
  }
}

const TAKE_OVER =
  'takes over a data folder locked by another host. Make sure first that no process runs there, or both lose writes'

/** Adds `--take-over`: replaces the lock of an ended process on another machine. */
export function addTakeOverFlag(command: Command): Command {
  return command.option('--take-over', TAKE_OVER)
}

export function isTakeOver(command: Command): boolean {
  return command.opts<{ takeOver?: boolean }>().takeOver === true
}

/** The effective configuration, or all its problems. */
export function readConfigResult(command: Command, verbDefaults: VerbDefaults = {}): ConfigResult {
  const { config } = command.opts<{ config?: string }>()
  return loadConfig({
    flags: givenFlags(command),
    environment: process.env,
    // An empty variable is treated as absent, as for settings.
    file: config ?? (process.env.TIDEGATE_CONFIG || undefined),
    readFile: (path) => readRegularFile(path, FILE_BYTES_MAX).toString(),
    verbDefaults,
  })
}

/** By key. The parser's option names differ where a feed's name has a hyphen. */
function givenFlags(command: Command): Record<string, string> {
  const flags: Record<string, string> = {}
  for (const option of command.options) {
    const key = option.long?.slice(2) ?? ''
    const value: unknown = command.getOptionValue(option.attributeName())
    const isKey = Object.hasOwn(SETTINGS, key) || isRemoved(key) || feedMemberOf(key) !== undefined
    if (isKey && typeof value === 'string') flags[key] = value
  }
  return flags
}

/** The effective configuration. Throws one line with every problem. Warnings are passed to `warn`. */
export function readConfig(
  command: Command,
  verbDefaults: VerbDefaults,
  warn: (line: string) => void,
): { readonly config: Config; readonly origins: Readonly<Record<SettingKey, string>> } {
  const result = readConfigResult(command, verbDefaults)
  for (const warning of result.warnings) warn(warning)
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('; '))
  return result
}
