/**
 * Fan-out: the messages per second that one core delivers to a thousand connections, their latency, and the cost of
 * slow clients, new subscriptions and idle connections. Every round runs Tidegate, Node's sockets alone, a naive `ws`
 * server and a C program that only writes finished frames (the kernel's limit, with a C compiler) one after the other.
 * The load generator is its own process on its own core. Its share of that core, and the ticks that found a full
 * socket, show that it is not the bottleneck. With `--tls` it measures TLS instead (`fanout-tls.ts`).
 */
import { prepareTools, type Tools } from './fanout-processes.ts'
import {
  type Durations,
  measureFlat,
  measureGathered,
  measureIdle,
  measureJoiners,
  measureLagging,
  measurePaced,
  measureSlope,
  measureSlowReaders,
  Runs,
} from './fanout-scenarios.ts'
import { measureTls, measureTlsIdle, prepareTls } from './fanout-tls.ts'
import type { BenchResult } from './result.ts'

const FULL: Durations = {
  rounds: 5,
  warmUpMilliseconds: 1_000,
  flatMilliseconds: 2_000,
  pacedMilliseconds: 6_000,
  joiners: 1_000,
  idle: 10_000,
}
const QUICK: Durations = {
  rounds: 1,
  warmUpMilliseconds: 500,
  flatMilliseconds: 1_000,
  pacedMilliseconds: 2_000,
  joiners: 100,
  idle: 2_000,
}

const SCENARIOS = [
  measureFlat,
  measurePaced,
  measureGathered,
  measureSlowReaders,
  measureLagging,
  measureJoiners,
  measureSlope,
]

export async function run({ quick, tls }: { quick: boolean; tls?: boolean }): Promise<BenchResult[]> {
  const durations = quick ? QUICK : FULL
  const tools = prepareTools()
  if (tools.limit === undefined)
    console.error('no C compiler: the kernel limit is left out, the load generator is Node')
  if (!tools.isPinned) console.error('no taskset or one core: processes are not pinned')
  const runs = new Runs()
  try {
    if (tls === true) await runTls(runs, tools, durations)
    else await runPlain(runs, tools, durations)
  } finally {
    tools.remove()
  }
  return [...runs.results.values()]
}

async function runTls(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  const tls = await prepareTls(tools)
  for (let round = 0; round < durations.rounds; round++) {
    console.error(`round ${round + 1} of ${durations.rounds}`)
    await measureTls(runs, tools, tls, durations)
  }
  await measureTlsIdle(runs, tools, tls, durations)
}

async function runPlain(runs: Runs, tools: Tools, durations: Durations): Promise<void> {
  for (let round = 0; round < durations.rounds; round++) {
    for (const scenario of SCENARIOS) {
      console.error(
        `${new Date().toISOString().slice(11, 19)} round ${round + 1} of ${durations.rounds}: ${scenario.name}`,
      )
      await scenario(runs, tools, durations)
    }
  }
  await measureIdle(runs, tools, durations)
}
