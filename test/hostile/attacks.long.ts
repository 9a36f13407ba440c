/** Every attack with the counts of `npm run attack`, each once against its own service, without measuring time. */

import { beforeAll, expect, it } from 'vitest'
import { seedOf } from '../support/property.ts'
import { ensureBuilt } from '../support/running-service.ts'
import { ATTACKS } from './attacks/attacks.ts'
import { runAttack } from './attacks/runner.ts'

const SEED = seedOf(20_261_123)

beforeAll(() => ensureBuilt())

it.each(ATTACKS.map((attack) => [attack.name, attack] as const))(
  `a service withstands the attack: %s (seed ${SEED})`,
  async (_name, attack) => {
    const options = { scale: 'full', rounds: 1, seed: SEED, isMeasured: false, onProgress: () => undefined } as const
    const { seen, failures } = await runAttack(attack, options)
    console.info(`${attack.name}: ${seen}`)
    expect(failures).toEqual([])
  },
)
