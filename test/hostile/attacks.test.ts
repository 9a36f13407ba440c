/**
 * The short form of the attacks: small counts and a fixed seed, one after the other against one built service. The
 * tests check responses, counts, and the process's memory and CPU time. `npm run attack` measures other clients'
 * latency. `TIDEGATE_SEED` repeats another seed.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { note } from '../support/note.ts'
import { Random } from '../support/random.ts'
import { ensureBuilt } from '../support/running-service.ts'
import { ATTACKS } from './attacks/attacks.ts'
import { send } from './attacks/requests.ts'
import { Stage } from './attacks/stage.ts'

const SEED = Number(process.env.TIDEGATE_SEED ?? 20_261_122)
const CHOSEN = ATTACKS.filter(({ isInTests }) => isInTests)

/** The settings that the chosen attacks need. None contradicts another. */
const SETTINGS = Object.assign({}, ...CHOSEN.map(({ settings }) => (typeof settings === 'object' ? settings : {})))

/** Far longer than any service takes that does not hang. */
const ANSWER_MILLISECONDS_MAX = 30_000

async function isAnswering(stage: Stage): Promise<boolean> {
  if (!stage.isAlive) return false
  const { status } = await send(`${stage.operator.url}/livez`, { millisecondsMax: ANSWER_MILLISECONDS_MAX })
  return status === 200
}

describe(`one service under attack, seed ${SEED}`, () => {
  let stage: Stage | undefined

  const running = async (): Promise<Stage> => {
    if (stage !== undefined && (await isAnswering(stage))) return stage
    // An attack that ends the process, or makes it hang, does not fail the others.
    await stage?.close()
    stage = await Stage.open({ settings: SETTINGS, isNewStore: true })
    return stage
  }

  beforeAll(async () => {
    ensureBuilt()
    await running()
  })
  afterAll(() => stage?.close())

  it.each(CHOSEN.map((attack, index) => [attack.name, attack, index] as const))(
    'a service withstands the attack: %s',
    async (_name, attack, index) => {
      const random = new Random(SEED + index)
      const { seen, failures } = await attack.run({ stage: await running(), random, scale: 'short', round: 0 })
      note(`${attack.name}: ${seen}`)
      expect(failures).toEqual([])
    },
  )

  it('a service that was attacked stops cleanly afterwards, without an error in its log', async () => {
    const ending = await running()
    ending.signal('SIGTERM')
    expect(await ending.untilEnded(120_000)).toBe('code 0')
    expect(ending.log.split('\n').filter((line) => line.includes('"level":"error"'))).toEqual([])
  })
})

describe('the tables of attack cases', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/measurements/hostile.md'), 'utf8')
  const casesOf = (name: string) => ATTACKS.find((attack) => attack.name === name)?.cases ?? []

  it.each([
    ['token-forgeries', 42],
    ['token-claims', 26],
    ['raw-http', 60],
    ['stream-frames', 34],
  ])('the attack cases of %s are %i, each with a unique name', (name, count) => {
    expect(new Set(casesOf(name)).size).toBe(count)
    expect(casesOf(name)).toHaveLength(count)
  })

  it('the attack cases are listed on the page of measurements, each table with its number of cases', () => {
    const rows = page.split('\n')
    for (const { name, cases = [] } of ATTACKS) {
      const row = rows.find((line) => line.startsWith(`| \`${name}\` |`))
      expect(row, name).toContain(cases.length > 0 ? `(${cases.length} cases)` : '|')
    }
  })
})
