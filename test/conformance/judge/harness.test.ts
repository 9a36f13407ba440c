/** The harness that plays the scenarios of a check, with its waits and its findings. */
import { expect, it } from 'vitest'
import { Findings } from '../../../src/conformance/judge/findings.ts'
import { Failed, type Outcome, runScenarios, Skipped, Waits } from '../../../src/conformance/judge/harness.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

interface Scenario {
  readonly name: string
  readonly play: () => Promise<string | undefined>
}

const passes = (name: string, note?: string): Scenario => ({ name, play: async () => note })
const throws = (name: string, error: Error): Scenario => ({ name, play: () => Promise.reject(error) })

function run(scenarios: readonly Scenario[], clock = new VirtualClock(), isStopped = () => false) {
  const steps: string[] = []
  const results = runScenarios<Scenario, { name: string; outcome: Outcome; milliseconds: number }>({
    scenarios,
    clock,
    play: ({ name, play }) => {
      steps.push(`play ${name}`)
      return play()
    },
    afterEach: () => void steps.push('after'),
    resultOf: ({ name }, outcome, milliseconds) => ({ name, outcome, milliseconds }),
    onBegin: ({ name }) => steps.push(`begin ${name}`),
    onResult: ({ name }, { outcome }) => steps.push(`${name} ${outcome.kind}`),
    isStopped,
  })
  return { steps, results }
}

it('the harness plays scenarios in order, and one that fails or is skipped ends no other', async () => {
  const { steps, results } = run([
    passes('a', 'seen'),
    throws('b', new Failed('wrong')),
    throws('c', new Skipped('not here')),
    passes('d'),
  ])
  const outcomes = (await results).map(({ outcome }) => outcome)
  expect(outcomes).toMatchObject([
    { kind: 'passed', note: 'seen' },
    { kind: 'failed', failure: { message: 'wrong' } },
    { kind: 'skipped', reason: 'not here' },
    { kind: 'passed', note: undefined },
  ])
  expect(steps.slice(0, 4)).toEqual(['begin a', 'play a', 'after', 'a passed'])
  expect(steps.filter((step) => step === 'after')).toHaveLength(4)
})

it('the harness measures a scenario on the clock that is passed in', async () => {
  const clock = new VirtualClock()
  const waits = new Waits(clock)
  const { results } = run([{ name: 'a', play: async () => String(await waits.until(() => false, 250)) }], clock)
  clock.advance(250)
  expect(await results).toMatchObject([{ outcome: { note: 'false' }, milliseconds: 250 }])
})

it('the harness ends with any other error of a scenario, after the scenario was ended', async () => {
  const { steps, results } = run([throws('a', new TypeError('a bug')), passes('b')])
  await expect(results).rejects.toThrow('a bug')
  expect(steps).toEqual(['begin a', 'play a', 'after'])
})

it('the harness begins no scenario after the check was stopped', async () => {
  let isStopped = false
  const stopping: Scenario = {
    name: 'a',
    play: async () => {
      isStopped = true
      return undefined
    },
  }
  const { results } = run([stopping, passes('b')], undefined, () => isStopped)
  expect((await results).map(({ name }) => name)).toEqual(['a'])
})

it('a wait ends when its predicate holds, and every wait ends when the check is stopped', async () => {
  const waits = new Waits(new VirtualClock())
  let holds = false
  const first = waits.until(() => holds, 1_000)
  holds = true
  waits.notify()
  expect(await first).toBe(true)
  const second = waits.until(() => false, 1_000)
  waits.stop(new Skipped('stopped'))
  await expect(second).rejects.toThrow('stopped')
  await expect(waits.until(() => true, 1_000)).rejects.toThrow('stopped')
  expect(waits.isStopped).toBe(true)
})

it('findings count every violation of a rule and keep the first examples', () => {
  const findings = new Findings<{ name: 'a' | 'b'; rule: string; count: number; examples: number[] }>(2, (name) => ({
    name,
    rule: `rule ${name}`,
  }))
  for (const example of [1, 2, 3]) findings.add('b', () => example)
  findings.add('a', () => 4)
  expect(findings.all).toEqual([
    { name: 'b', rule: 'rule b', count: 3, examples: [1, 2] },
    { name: 'a', rule: 'rule a', count: 1, examples: [4] },
  ])
  expect(findings.count).toBe(4)
  expect([findings.has('a'), new Findings(1, () => ({ name: 'a' as const })).has('a')]).toEqual([true, false])
})
