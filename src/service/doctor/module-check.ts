/**
 * Checks the modules that markets name as their sources: each can be loaded and supports this contract version. Loading
 * executes a module's code, as a start does, but `createSource` is not called.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { loadModule } from '../../streaming/sources/module/module-loader.ts'
import { moduleSymbol } from '../../streaming/sources/module/module-source.ts'
import type { Check, ConfigProblem } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'

/** @param origins where each value comes from: flag, variable, file or default */
export async function checkModules(
  { markets }: Pick<Config, 'markets'>,
  origins: Readonly<Pick<Record<SettingKey, string>, 'markets'>>,
  clock: Clock,
): Promise<Check> {
  const problems: ConfigProblem[] = []
  const messages = new Map<string, string | undefined>()
  for (const [index, { sources }] of markets.entries()) {
    for (const [place, { feed, symbol }] of sources.entries()) {
      if (feed !== 'module') continue
      const { path } = moduleSymbol(symbol)
      if (!messages.has(path)) {
        const loaded = await loadModule(path, clock)
        messages.set(path, typeof loaded === 'string' ? loaded : undefined)
      }
      const message = messages.get(path)
      if (message === undefined) continue
      problems.push({
        key: `markets[${index}].sources[${place}]`,
        origin: origins.markets,
        message: `cannot be used: ${message}`,
      })
    }
  }
  return { problems, warnings: [] }
}
