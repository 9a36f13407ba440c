/**
 * The console in headless Chromium, over the built program: the page for all markets with three ladders, each for a
 * simulated market with 100 or 500 changes per second, through the operator listener's stream. Processor time is the
 * sum over all browser processes as the browser counts it, so other work on the machine does not count. Memory is
 * measured after a garbage collection. 10 minutes, or 30 s with `--quick`.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { openPerson, type Person } from '../test/console/console-stage.ts'
import { CHROMIUM } from '../test/support/foreign-programs.ts'
import { OperatorApi, startVerb, temporaryFolder } from '../test/support/running-service.ts'
import type { BenchResult } from './result.ts'

const STEP_MILLISECONDS = 30_000
/**
 * Changes per second and market, and the duration. Changes come in clusters, and those in one tick are one commit, so
 * 500 changes are about 100 commits.
 */
const RUNS = [
  { rate: 100, steps: 20 },
  { rate: 500, steps: 4 },
] as const
/** The first steps' warm-up time, in which scripts are compiled. No processor time figure includes it. */
const WARM_UP_MILLISECONDS = 10_000
const DRAWN_SECONDS = 5

type Call = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>

interface Sample {
  readonly heapBytes: number
  readonly nodes: number
  readonly listeners: number
  /** The renderer's memory that no file backs. */
  readonly rendererBytes: number
}

export async function run({ quick }: { quick: boolean }): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const { rate, steps } of RUNS) results.push(...(await runAt(rate, quick ? 1 : steps)))
  return results
}

async function runAt(rate: number, steps: number): Promise<BenchResult[]> {
  const folder = temporaryFolder()
  const service = startVerb('serve', folder.path, { 'simulator.rate': rate })
  const ready = JSON.parse(await service.line((line) => line.startsWith('{'))) as { operator: string }
  const operator = new OperatorApi(ready.operator, folder.path)
  const call: Call = (method, path, body) => operator.call(method as 'GET', path, body)
  const browser = await chromium.launch({ executablePath: CHROMIUM.file, args: ['--no-sandbox'] })
  try {
    const person = await openPerson(browser, operator.url, call, { name: 'bench', role: 'viewer' })
    const results = await measure({ browser, operator, person, steps })
    return results.map((result) => ({ ...result, name: `${rate} changes/s: ${result.name}` }))
  } finally {
    await browser.close()
    service.child.kill('SIGTERM')
    await service.result
    folder.remove()
  }
}

async function measure({
  browser,
  operator,
  person,
  steps,
}: {
  readonly browser: Browser
  readonly operator: OperatorApi
  readonly person: Person
  readonly steps: number
}): Promise<BenchResult[]> {
  const { page } = person
  await page.goto(`${operator.url}/console/markets`)
  await page.locator('.ladder').nth(2).waitFor()
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)
  const [system, inspector] = [await browser.newBrowserCDPSession(), await page.context().newCDPSession(page)]
  await inspector.send('Performance.enable')
  await wait(WARM_UP_MILLISECONDS)
  const commits = await commitsOf(operator)
  const start = performance.now()
  const shares = new Map<string, number[]>()
  const samples = [await sampleOf(system, inspector)]
  let before = await secondsByType(system)
  let stepStart = start
  for (let step = 0; step < steps; step++) {
    await wait(STEP_MILLISECONDS)
    const after = await secondsByType(system)
    const seconds = (performance.now() - stepStart) / 1000
    stepStart = performance.now()
    for (const [type, total] of after) {
      const used = (100 * (total - (before.get(type) ?? 0))) / seconds
      shares.set(type, [...(shares.get(type) ?? []), used])
    }
    before = after
    // Not part of the measurement: a collection takes processor time that the page does not need.
    samples.push(await sampleOf(system, inspector))
    before = await secondsByType(system)
    stepStart = performance.now()
    report(step, shares, samples.at(-1) as Sample)
  }
  const rate = (await commitsOf(operator)).map(
    (count, index) => ((count - (commits[index] ?? 0)) * 1000) / (performance.now() - start),
  )
  if (person.faults.length > 0) throw new Error(person.faults.join('; '))
  const drawn = await textChangesPerSecond(page)
  return [
    ...[...shares].map(([type, runs]) => ({ name: `processor time, ${type}`, unit: '% of a core', runs })),
    { name: 'processor time, all processes', unit: '% of a core', runs: sumOf([...shares.values()]) },
    { name: 'heap after a collection', unit: 'MB', runs: samples.map(({ heapBytes }) => heapBytes / 1e6) },
    { name: 'memory of the renderer', unit: 'MB', runs: samples.map(({ rendererBytes }) => rendererBytes / 1e6) },
    { name: 'nodes of the page', unit: '', runs: samples.map(({ nodes }) => nodes) },
    { name: 'event listeners', unit: '', runs: samples.map(({ listeners }) => listeners) },
    { name: 'commits per market', unit: '1/s', runs: rate },
    { name: 'texts written to the page', unit: '1/s', runs: [drawn] },
    { name: 'first contentful paint', unit: 'ms', runs: [paint] },
  ]
}

/** Processor time so far, in seconds, by process kind. */
async function secondsByType(system: CDPSession): Promise<Map<string, number>> {
  const { processInfo } = await system.send('SystemInfo.getProcessInfo')
  const seconds = new Map<string, number>()
  for (const { type, cpuTime } of processInfo) seconds.set(type, (seconds.get(type) ?? 0) + cpuTime)
  return seconds
}

async function sampleOf(system: CDPSession, inspector: CDPSession): Promise<Sample> {
  await inspector.send('HeapProfiler.collectGarbage')
  const { metrics } = await inspector.send('Performance.getMetrics')
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0
  const { processInfo } = await system.send('SystemInfo.getProcessInfo')
  const renderers = processInfo.filter(({ type }) => type === 'renderer')
  return {
    heapBytes: value('JSHeapUsedSize'),
    nodes: value('Nodes'),
    listeners: value('JSEventListeners'),
    rendererBytes: renderers.reduce((sum, { id }) => sum + anonymousBytesOf(id), 0),
  }
}

function anonymousBytesOf(pid: number): number {
  const [, kilobytes = '0'] = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

/** The three markets' versions: each commit is one. */
async function commitsOf(operator: OperatorApi): Promise<number[]> {
  const { items } = await operator.call<{ items: { version: number }[] }>('GET', '/markets')
  return items.map(({ version }) => version)
}

/** How many ladder texts change, as proof that the page was drawn. */
async function textChangesPerSecond(page: Page): Promise<number> {
  return await page.evaluate<number>(`new Promise((resolve) => {
    let count = 0
    const observer = new MutationObserver((changes) => { count += changes.length })
    for (const ladder of document.querySelectorAll('.ladder')) {
      observer.observe(ladder, { childList: true, characterData: true, subtree: true })
    }
    setTimeout(() => resolve(count / ${DRAWN_SECONDS}), ${DRAWN_SECONDS * 1000})
  })`)
}

function sumOf(lists: readonly (readonly number[])[]): number[] {
  const [first = []] = lists
  return first.map((_, index) => lists.reduce((sum, list) => sum + (list[index] ?? 0), 0))
}

function report(step: number, shares: ReadonlyMap<string, readonly number[]>, sample: Sample): void {
  const used = [...shares].map(([type, runs]) => `${type} ${runs.at(-1)?.toFixed(1)} %`).join(', ')
  const { heapBytes, nodes, listeners, rendererBytes } = sample
  const memory = `heap ${(heapBytes / 1e6).toFixed(2)} MB, renderer ${(rendererBytes / 1e6).toFixed(1)} MB`
  process.stderr.write(`${step + 1}: ${used}; ${memory}; ${nodes} nodes, ${listeners} listeners\n`)
}
