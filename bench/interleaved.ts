/**
 * Runs measurements alternately, one run each per round, so that the machine's load affects all alike. The first round
 * is a warm-up and is not counted.
 */
import { secondsOf } from './process-time.ts'
import type { BenchResult } from './result.ts'

/** A measurement in every round: its work in one round, and its results. */
export interface Contender {
  readonly name: string
  readonly unit: string
  readonly reference?: string
  /** The process whose processor time is counted; absent: this one. */
  readonly pid?: number
  run(): Promise<number>
}

/** Each contender's values, followed by the part of a core used by its process. */
export async function interleaved(contenders: readonly Contender[], rounds: number): Promise<BenchResult[]> {
  const results = contenders.map(({ name, unit, reference }) => ({
    name,
    unit,
    runs: [] as number[],
    ...(reference === undefined ? {} : { reference }),
  }))
  const processors = contenders.map(({ name, pid }) => ({
    name: `${name}: ${pid === undefined ? 'this process' : 'the program'}`,
    unit: '% of a core',
    runs: [] as number[],
  }))
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { name, unit, pid, run }] of contenders.entries()) {
      const used = processorSeconds(pid)
      const start = performance.now()
      const value = await run()
      const share = ((processorSeconds(pid) - used) * 100_000) / (performance.now() - start)
      process.stderr.write(`${name}: ${Math.round(value)} ${unit}\n`)
      if (round === 0) continue
      results[index]?.runs.push(value)
      processors[index]?.runs.push(share)
    }
  }
  return results.flatMap((result, index) => [result, processors[index] as BenchResult])
}

function processorSeconds(pid: number | undefined): number {
  if (pid !== undefined) return secondsOf(pid)
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000_000
}

/** How often per second `callers` concurrent callers finish `work`. */
export async function perSecond(work: () => Promise<unknown>, callers: number, milliseconds: number): Promise<number> {
  const start = performance.now()
  let done = 0
  const caller = async () => {
    while (performance.now() - start < milliseconds) {
      await work()
      done++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (done / (performance.now() - start)) * 1_000
}
