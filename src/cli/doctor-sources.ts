/**
 * What `tidegate doctor` says of the pairs at venues that markets name, asked of the venues themselves. It says nothing
 * where no market names a venue.
 */

import { checkSources } from '../app/source-check.ts'
import type { Clock } from '../base/clock.ts'
import { describeProblem } from '../config/load.ts'
import type { Config, SettingKey } from '../config/settings.ts'
import { bad, type Finding, ok, warn } from './doctor-finding.ts'

const NAME = 'sources'

/** @param origins where each value came from */
export async function examineSources(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  clock: Clock,
): Promise<Finding[]> {
  const { problems, warnings, goodCount } = await checkSources(config, origins, clock)
  return [
    ...(goodCount > 0 ? [ok(NAME, `${goodCount} of those that markets name are listed by their venues`)] : []),
    ...problems.map((problem) =>
      bad(NAME, describeProblem(problem), 'name a pair that the venue has, or give the market its decimals'),
    ),
    ...warnings.map((warning) => warn(NAME, warning, "see the venue's status page, and this machine's way to it")),
  ]
}
