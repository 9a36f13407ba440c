/**
 * The checks of `tidegate doctor` on the pairs of markets, by requests to the venues. No finding when no market has a
 * venue as its source.
 */

import { checkSources } from '../app/source-check.ts'
import type { Clock } from '../base/clock.ts'
import { describeProblem } from '../config/load.ts'
import type { Config, SettingKey } from '../config/settings.ts'
import { bad, type Finding, ok, warn } from './doctor-finding.ts'

const NAME = 'sources'

/** @param origins the origin of each value */
export async function examineSources(
  config: Config,
  origins: Readonly<Record<SettingKey, string>>,
  clock: Clock,
): Promise<Finding[]> {
  const { problems, warnings, goodCount } = await checkSources(config, origins, clock)
  return [
    ...(goodCount > 0 ? [ok(NAME, `${goodCount} of those that markets name are listed by their venues`)] : []),
    ...problems.map((problem) =>
      bad(NAME, describeProblem(problem), 'use a pair that the venue lists, or correct the decimals of the market'),
    ),
    ...warnings.map((warning) =>
      warn(NAME, warning, "see the venue's status page and the network connection of this machine"),
    ),
  ]
}
