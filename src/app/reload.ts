/**
 * A reload of the configuration while the service runs: what of it is applied, what has to wait for a restart, and when
 * it is refused. The table of settings says which keys are live; a changed key that is not live keeps its old value and
 * is named. A configuration with a problem changes nothing, and neither does one that looks like a file cut short: an
 * empty file, or one without markets while some are served. It is applied in one go, so that two never mix; secrets are
 * compared, never shown.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Counter, type MetricsRegistry } from '../base/metrics.ts'
import { type ConfigResult, describeProblem } from '../config/load.ts'
import { type Config, isLive, SETTING_KEYS, type SettingKey } from '../config/settings.ts'
import { feedProblem } from '../config/sources.ts'
import { checkTlsFiles } from './tls-settings.ts'

export interface ReloadOptions {
  readonly log: Log
  readonly clock: Clock
  /** What is in force; its configuration is replaced. */
  readonly live: { config: Config }
  /** Decimals that the ledger counts amounts in, by asset. */
  readonly decimals: ReadonlyMap<string, number>
  /** Brings the service in line with the configuration that is in force now. */
  readonly apply: () => void
}

export type ReloadOutcome = 'applied' | 'refused'

/** Counts the outcomes; an outcome that has not happened yet is there with zero. */
export function createReloadCounter(registry: MetricsRegistry): Counter<'outcome'> {
  const counter = new Counter({
    name: 'tidegate_config_reloads_total',
    help: 'Reloads of the configuration (SIGHUP) by outcome: applied, or refused because of a problem',
    labelNames: ['outcome'],
    registers: [registry],
  })
  for (const outcome of ['applied', 'refused'] satisfies ReloadOutcome[]) counter.inc({ outcome }, 0)
  return counter
}

/** Applies what can be applied of `result`, and logs what was done, what was not, and why. */
export function reload({ log, clock, live, decimals, apply }: ReloadOptions, result: ConfigResult): ReloadOutcome {
  for (const warning of result.warnings) log.warn({ warning }, 'configuration warning')
  const problems = result.ok ? checkTlsFiles(result.config, result.origins, nowOf(clock)).problems : result.problems
  if (!result.ok || problems.length > 0) {
    log.error({ problems: problems.map(describeProblem) }, 'the configuration has problems: it stays as it was')
    return 'refused'
  }
  const { config, taken, waiting } = merge(live.config, result.config)
  const suspicion =
    decimalsFault(decimals, result.config) ?? suspicionOf(live.config, result, taken.length + waiting.length)
  if (suspicion !== undefined) {
    log.error({ reason: suspicion }, 'the configuration was not reloaded: it stays as it was')
    return 'refused'
  }
  live.config = config
  apply()
  log.info({ keys: taken }, 'configuration read anew')
  if (waiting.length > 0) log.warn({ keys: waiting }, 'keys that need a restart keep their old value')
  return 'applied'
}

/**
 * Why a configuration that is valid is not applied: it needs a restart, or is more likely a damaged file than what the
 * operator wants. An empty file that
 * changes nothing is applied: all values may come from flags and variables, and certificates are read again.
 */
function suspicionOf(
  running: Config,
  read: ConfigResult & { readonly ok: true },
  changeCount: number,
): string | undefined {
  if (read.isFileEmpty && changeCount > 0) return 'the configuration file is empty'
  const unknown = unknownFeedOf(running, read.config)
  if (unknown !== undefined) return unknown
  if (running.markets.length === 0 || read.config.markets.length > 0) return undefined
  return 'markets would be empty: a reload never removes every market; to serve none, restart'
}

/** An asset whose amounts would be read in other units than they are kept in, while some may be on their way. */
function decimalsFault(known: ReadonlyMap<string, number>, { assets }: Config): string | undefined {
  const changed = assets.find(({ symbol, decimals }) => decimals !== (known.get(symbol) ?? decimals))
  if (changed === undefined) return undefined
  const { symbol, decimals } = changed
  return `assets: ${symbol} has ${decimals} decimals, and the ledger has ${known.get(symbol)}: this needs a restart`
}

/** Markets are live and feeds are not: a market cannot be read through a feed that only the next start has. */
function unknownFeedOf({ feeds }: Config, { markets }: Config): string | undefined {
  for (const { definition, sources } of markets) {
    for (const source of sources) {
      const problem = feedProblem(source, feeds)
      if (problem !== undefined) return `a source of ${definition.symbol} ${problem}; new feeds need a restart`
    }
  }
  return undefined
}

/** The running configuration with the live values of the other one, and the keys in which the two differ. */
function merge(
  running: Config,
  read: Config,
): { readonly config: Config; readonly taken: readonly SettingKey[]; readonly waiting: readonly SettingKey[] } {
  const changed = SETTING_KEYS.filter((key) => !isDeepStrictEqual(running[key], read[key]))
  const taken = changed.filter(isLive)
  const values = Object.fromEntries(taken.map((key) => [key, read[key]]))
  return { config: { ...running, ...values }, taken, waiting: changed.filter((key) => !isLive(key)) }
}

function nowOf(clock: Clock): number {
  return clock.wallInstant().milliseconds
}
