/**
 * Reloads a running service's configuration. The settings table marks the live keys. A changed key that is not live
 * keeps its old value and is logged. A configuration with a problem changes nothing, and neither does one that looks
 * truncated: an empty file, or one without markets while some are served. A reload is applied synchronously, so two
 * reloads never mix. Secrets are compared and never logged.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../platform/base/clock.ts'
import type { Log } from '../platform/base/log.ts'
import { Counter, type MetricsRegistry } from '../platform/base/metrics.ts'
import type { ConfigResult } from './config/load.ts'
import { type ConfigProblem, describeProblem } from './config/problem-list.ts'
import { type Config, isLive, SETTING_KEYS, type SettingKey } from './config/settings.ts'
import type { Origins } from './config/settings-in-force.ts'
import { feedProblem, ingestProblems } from './config/sources.ts'
import { type StoreDefault, withStoreDefaults } from './config/store-defaults.ts'
import { unnoticedDestinations } from './config/unapproved-destinations.ts'
import { checkTlsFiles } from './listeners/tls-settings.ts'

export interface ReloadOptions {
  readonly log: Log
  readonly clock: Clock
  /** Holds the current configuration, which is replaced. */
  readonly current: { config: Config; origins: Origins }
  /** The assets' decimals in the ledger. Absent where this process has none. */
  readonly decimals?: ReadonlyMap<string, number> | undefined
  /** The defaults that the store keeps. */
  readonly storeDefaults: readonly StoreDefault[]
  /** Applies `current.config` to the service. */
  readonly apply: () => void
}

export type ReloadOutcome = 'applied' | 'refused'

/** Counts reloads by outcome. Both outcomes begin at zero. */
export function createReloadCounter(registry: MetricsRegistry): Counter<'outcome'> {
  const counter = new Counter({
    name: 'tidegate_config_reloads_total',
    help: 'Configuration reloads (SIGHUP) by outcome: applied, or refused because of a problem',
    labelNames: ['outcome'],
    registers: [registry],
  })
  for (const outcome of ['applied', 'refused'] satisfies ReloadOutcome[]) counter.inc({ outcome }, 0)
  return counter
}

/**
 * Applies the live keys in `result`, and logs the changed keys, the keys that need a restart, or why it was refused.
 */
export function reload(
  { log, clock, current, decimals, storeDefaults, apply }: ReloadOptions,
  read: ConfigResult,
): ReloadOutcome {
  const result = read.ok ? withStoreDefaults(read, storeDefaults) : read
  for (const warning of result.warnings) log.warn({ warning }, 'configuration warning')
  const problems = result.ok ? problemsOf(result, nowOf(clock)) : result.problems
  if (!result.ok || problems.length > 0) {
    log.error({ problems: problems.map(describeProblem) }, 'the configuration has problems: it stays as it was')
    return 'refused'
  }
  const { config, applied, waiting } = merge(current.config, result.config)
  const reason =
    (decimals && decimalsFault(decimals, result.config)) ??
    refusalOf(current.config, result, applied.length + waiting.length)
  if (reason !== undefined) {
    log.error({ reason }, 'the configuration was not reloaded: it stays as it was')
    return 'refused'
  }
  current.config = config
  current.origins = mergedOrigins(current.origins, result.origins)
  apply()
  log.info({ keys: applied }, 'configuration reloaded')
  if (waiting.length > 0) log.warn({ keys: waiting }, 'keys that need a restart keep their old value')
  return 'applied'
}

function problemsOf({ config, origins }: ReloadOptions['current'], nowMilliseconds: number): readonly ConfigProblem[] {
  return [...checkTlsFiles(config, origins, nowMilliseconds).problems, ...unnoticedDestinations(config, origins)]
}

/**
 * Why a valid configuration is not applied: it needs a restart, or it looks like a damaged file. An empty file without
 * any change is applied, because all values may come from flags and variables. Certificates are then reloaded.
 */
function refusalOf(
  running: Config,
  read: ConfigResult & { readonly ok: true },
  changeCount: number,
): string | undefined {
  if (read.isFileEmpty && changeCount > 0) return 'the configuration file is empty'
  const unknown = unknownFeedOf(running, read.config)
  if (unknown !== undefined) return unknown
  if (running.markets.length === 0 || read.config.markets.length > 0) return undefined
  return 'markets would be empty: a reload never removes every market. To serve none, restart'
}

/** Why an asset's decimals cannot change: the ledger's amounts would be read in another unit. */
function decimalsFault(known: ReadonlyMap<string, number>, { assets }: Config): string | undefined {
  const changed = assets.find(({ symbol, decimals }) => decimals !== (known.get(symbol) ?? decimals))
  if (changed === undefined) return undefined
  const { symbol, decimals } = changed
  return `assets: ${symbol} has ${decimals} decimals, and the ledger has ${known.get(symbol)}: this needs a restart`
}

/** Markets are live, but feeds and the ingest listener need a restart, so a reloaded market cannot use a new one. */
function unknownFeedOf({ feeds, ...running }: Config, { markets }: Config): string | undefined {
  const [missing] = ingestProblems(markets, running)
  if (missing !== undefined) return `markets${missing.path} is ingest: ingest.port needs a restart`
  for (const { definition, sources } of markets) {
    for (const source of sources) {
      const problem = feedProblem(source, feeds)
      if (problem !== undefined) return `a source of ${definition.symbol} ${problem}: new feeds need a restart`
    }
  }
  return undefined
}

/** The running configuration with the reloaded live values, and the differing keys. */
function merge(
  running: Config,
  read: Config,
): { readonly config: Config; readonly applied: readonly SettingKey[]; readonly waiting: readonly SettingKey[] } {
  const changed = SETTING_KEYS.filter((key) => !isDeepStrictEqual(running[key], read[key]))
  const applied = changed.filter(isLive)
  const values = Object.fromEntries(applied.map((key) => [key, read[key]]))
  return { config: { ...running, ...values }, applied, waiting: changed.filter((key) => !isLive(key)) }
}

/** A key that needs a restart keeps its value's origin. */
function mergedOrigins(running: Origins, read: Origins): Origins {
  return Object.fromEntries(SETTING_KEYS.map((key) => [key, (isLive(key) ? read : running)[key]])) as Origins
}

function nowOf(clock: Clock): number {
  return clock.wallInstant().milliseconds
}
