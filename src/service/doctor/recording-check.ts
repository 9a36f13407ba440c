/**
 * Checks the recordings that markets name as their sources: each can be read, contains the market, and has no more
 * decimals than the market. It reads each file's header and closes it.
 */
import { openRecording } from '../../streaming/recordings/reader.ts'
import { type RecordedMarket, recordedIndex } from '../../streaming/recordings/recording.ts'
import type { Check, ConfigProblem } from '../config/problem-list.ts'
import type { Config, SettingKey } from '../config/settings.ts'

/** @param origins where each value comes from: flag, variable, file or default */
export async function checkRecordings(
  { markets }: Config,
  origins: Readonly<Record<SettingKey, string>>,
): Promise<Check> {
  const problems: ConfigProblem[] = []
  const recordings = new Map<string, readonly RecordedMarket[] | string>()
  for (const [index, { definition, sources }] of markets.entries()) {
    for (const [place, { feed, symbol: path }] of sources.entries()) {
      if (feed !== 'replay') continue
      const recorded = recordings.get(path) ?? (await readMarkets(path))
      recordings.set(path, recorded)
      const found = typeof recorded === 'string' ? recorded : recordedIndex(path, recorded, definition)
      if (typeof found === 'number') continue
      problems.push({
        key: `markets[${index}].sources[${place}]`,
        origin: origins.markets,
        message: `cannot be replayed: ${found}`,
      })
    }
  }
  return { problems, warnings: [] }
}

/** A recording's markets, or why it cannot be read. */
async function readMarkets(path: string): Promise<readonly RecordedMarket[] | string> {
  try {
    const reader = await openRecording(path)
    await reader.close()
    return reader.header.markets
  } catch (error) {
    return (error as Error).message
  }
}
