/**
 * Runs attacks, each against its own service, while another customer uses that service. The attack is repeated, and an
 * equal time without it follows each repetition, so both include the machine's load. These medians must hold: the other
 * customer's stream is silent for at most 100 ms longer than without the attack, and `/livez` answers within a second.
 * Afterwards the process must still run and end on SIGTERM in time.
 */
import { Random } from '../../support/random.ts'
import { type Attack, type Outcome, openStage, type Scale } from './attack.ts'
import { HonestProcess, type HonestReport } from './honest-process.ts'
import { MARKETS, STOP_MILLISECONDS_MAX, type Stage } from './stage.ts'

export interface AttackResult {
  readonly name: string
  readonly sent: string
  readonly holds: string
  readonly seen: string
  readonly failures: readonly string[]
  readonly cases?: readonly string[]
  /** Absent for attacks that stop or suspend the service. */
  readonly honest?: HonestMedians
  readonly residentMegabytesMax: number
}

/** Medians over the repetitions, in milliseconds. */
export interface HonestMedians {
  readonly rounds: number
  readonly silenceWith: number
  readonly silenceWithout: number
  readonly livezWith: number
}

export interface RunnerOptions {
  readonly scale: Scale
  readonly rounds: number
  readonly seed: number
  /** Whether another customer is measured meanwhile. Without it an attack runs once. */
  readonly isMeasured: boolean
  /** Called before each repetition. */
  onProgress(name: string, round: number, rounds: number): void
}

const SILENCE_MILLISECONDS_MAX = 100
const LIVEZ_MILLISECONDS_MAX = 1_000
/** Windows without the attack: as long as those with it, within these limits. */
const QUIET_MILLISECONDS = { min: 500, max: 8_000 }
const MEGABYTE = 1_048_576

export async function runAttack(attack: Attack, options: RunnerOptions): Promise<AttackResult> {
  const { name, sent, holds, cases } = attack
  const result = { name, sent, holds, ...(cases === undefined ? {} : { cases }) }
  let stage: Stage
  try {
    stage = await openStage(attack)
  } catch (error) {
    return { ...result, seen: 'not begun', failures: [(error as Error).message], residentMegabytesMax: 0 }
  }
  try {
    const measured = await measure(attack, stage, options)
    // An attack that failed to stop the service has reported that.
    const isJudged = attack.isolation === 'once' && measured.failures.length > 0
    const failures = [...measured.failures, ...(isJudged ? [] : await endFailures(attack, stage))]
    const residentMegabytesMax = Math.round(stage.watch.residentBytesMax / MEGABYTE)
    return { ...result, ...measured, failures: [...new Set(failures)], residentMegabytesMax }
  } finally {
    await stage.close()
  }
}

/** Everything before the service's end. An exception is a failure like any other. */
async function measure(
  attack: Attack,
  stage: Stage,
  options: RunnerOptions,
): Promise<Outcome & { readonly honest?: HonestMedians }> {
  try {
    await attack.prepare?.(runOf(attack, stage, options, 0))
    if (attack.isolation === 'once' || !options.isMeasured)
      return await repetition(attack, stage, { ...options, rounds: 1 }, 0)
    return await runRounds(attack, stage, options)
  } catch (error) {
    return { seen: 'not run to its end', failures: [(error as Error).message.slice(0, 300)] }
  }
}

function runOf(attack: Attack, stage: Stage, { scale, seed }: RunnerOptions, round: number) {
  let number = seed + round
  for (const character of attack.name) number = Math.imul(number, 31) + character.charCodeAt(0)
  return { stage, scale, round, random: new Random(number) }
}

/** One repetition. An exception is its failure, and the next one follows. */
async function repetition(attack: Attack, stage: Stage, options: RunnerOptions, round: number): Promise<Outcome> {
  options.onProgress(attack.name, round + 1, options.rounds)
  try {
    return await attack.run(runOf(attack, stage, options, round))
  } catch (error) {
    return { seen: 'ended early', failures: [(error as Error).message.slice(0, 300)] }
  }
}

async function runRounds(
  attack: Attack,
  stage: Stage,
  options: RunnerOptions,
): Promise<Outcome & { readonly honest?: HonestMedians }> {
  const { token } = await stage.customer()
  const livezUrl = `${stage.operator.url}/livez`
  const honest = await HonestProcess.start({ wsUrl: stage.ws, token, markets: MARKETS, livezUrl })
  const failures: string[] = []
  const reports: { readonly on: HonestReport; readonly off: HonestReport }[] = []
  let seen = ''
  try {
    for (let round = 0; round < options.rounds && stage.isAlive; round++) {
      const begun = performance.now()
      honest.begin()
      const outcome = await repetition(attack, stage, options, round)
      const on = await honest.end()
      failures.push(...outcome.failures)
      seen = outcome.seen
      if (!stage.isAlive) break
      await quiet(QUIET_MILLISECONDS.min)
      honest.begin()
      await quiet(Math.min(Math.max(performance.now() - begun, QUIET_MILLISECONDS.min), QUIET_MILLISECONDS.max))
      reports.push({ on, off: await honest.end() })
    }
  } finally {
    honest.close()
  }
  if (reports.length === 0) return { seen, failures }
  const medians = mediansOf(reports)
  return { seen, failures: [...failures, ...honestFailures(medians, reports)], honest: medians }
}

function mediansOf(reports: readonly { readonly on: HonestReport; readonly off: HonestReport }[]): HonestMedians {
  return {
    rounds: reports.length,
    silenceWith: median(reports.map(({ on }) => on.silenceMilliseconds)),
    silenceWithout: median(reports.map(({ off }) => off.silenceMilliseconds)),
    livezWith: median(reports.map(({ on }) => on.livezMilliseconds)),
  }
}

function honestFailures(medians: HonestMedians, reports: readonly { readonly on: HonestReport }[]): string[] {
  const longer = medians.silenceWith - medians.silenceWithout
  const closed = reports.map(({ on }) => on.closed).find((reason) => reason !== undefined)
  return [
    ...(longer > SILENCE_MILLISECONDS_MAX
      ? [`another customer's stream was silent for ${Math.round(longer)} ms longer than without the attack`]
      : []),
    ...(medians.livezWith > LIVEZ_MILLISECONDS_MAX ? [`/livez took ${Math.round(medians.livezWith)} ms`] : []),
    ...(closed === undefined ? [] : [`another customer's stream ended: ${closed}`]),
  ]
}

/** What is wrong with the process after an attack. */
async function endFailures(attack: Attack, stage: Stage): Promise<string[]> {
  if (!stage.isAlive) {
    // An attack that stops the service checks the service's end itself.
    return attack.isolation === 'once' && stage.ended === 'code 0' ? [] : [`the process ended with ${stage.ended}`]
  }
  stage.signal('SIGTERM')
  const ended = await stage.untilEnded(STOP_MILLISECONDS_MAX)
  const errors = stage.log
    .split('\n')
    .filter((line) => line.includes('"level":"error"') || line.includes('"level":"fatal"'))
  return [
    ...(ended === 'code 0' ? [] : [`after SIGTERM: ${ended ?? `still running after ${STOP_MILLISECONDS_MAX} ms`}`]),
    ...errors.slice(0, 3).map((line) => `an error in the log: ${line.slice(0, 300)}`),
  ]
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function quiet(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
