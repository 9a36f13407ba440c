/**
 * The client for as long as `TIDEGATE_SOAK_MINUTES` says, one minute by default, on a service that is disturbed all the
 * time: the program of the README exactly as it stands there, and another one with more channels. Each book and each
 * pair of best prices is compared with those of another client, written from the documentation alone, at equal times.
 * At the same time the program of the README runs under `torture`, one run after the other. `TIDEGATE_SOAK_LOG` names a
 * file for the result.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { programOfReadme, readmeProgram } from '../support/client-program.ts'
import { type RunningCommand, startProgram } from '../support/command-line.ts'
import { DisturbedService } from '../support/disturbed-service.ts'
import { ensureBuilt, STREAM_SCOPE, temporaryFolder, tokenOf } from '../support/running-service.ts'
import { SampleClient } from '../support/sample-client.ts'
import { runTorture } from '../support/torture-run.ts'

const minutes = Number(process.env.TIDEGATE_SOAK_MINUTES ?? 1)
const logFile = process.env.TIDEGATE_SOAK_LOG
const ROOT = join(import.meta.dirname, '../..')
const DISTURBANCE_MILLISECONDS = 4_000
/** Longer than the minutes, the last disturbance and the last run of `torture` take. */
const TIMEOUT_MILLISECONDS = minutes * 60_000 + 3_600_000
const MARKETS = ['BTCUSD', 'ETHUSD']
/** What a service says when it ends a subscription by itself. */
const NOTICE = /^the market was/

const folder = temporaryFolder()
afterAll(() => folder.remove())

interface Status {
  readonly market: string
  readonly status: string
  readonly time: string
  readonly hash: string
}

/** What the programs print, one object a line. */
interface Line {
  readonly book?: Status
  /** Best bid and ask, and their time. */
  readonly top?: { readonly market: string; readonly status: string; readonly time: string; readonly best: string }
  readonly memory?: { readonly heapBytes: number; readonly residentBytes: number }
  readonly event?: { readonly type: string; readonly reason?: string }
}

/** The other client: the hash of each of its books and the best prices, by market and time. */
class Reference {
  readonly hashes = new Map<string, string>()
  readonly tops = new Map<string, string>()
  readonly problems: string[] = []
  readonly #connect: () => Promise<SampleClient>
  #isEnded = false
  #client: SampleClient | undefined

  constructor(connect: (onMessage: (client: SampleClient, market: string) => void) => Promise<SampleClient>) {
    this.#connect = () => connect((client, name) => this.#keep(client, name))
  }

  async run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        this.#client = await this.#connect()
        for (const name of MARKETS) await this.#client.subscribe({ type: 'market_data', params: { market: name } })
        await this.#client.untilClosed(2_000_000_000)
      } catch {
        // Refused, or closed meanwhile: once more.
      }
      this.problems.push(...(this.#client?.problems ?? []))
      await sleep(300)
    }
  }

  end(): Promise<void> | undefined {
    this.#isEnded = true
    return this.#client?.close()
  }

  #keep(client: SampleClient, name: string): void {
    const { bids, asks, time, isComplete } = client.book(name)
    if (!isComplete) return
    const sorted = (side: ReadonlyMap<string, string>, sign: number) =>
      [...side].sort(([left], [right]) => sign * (Number(left) - Number(right)))
    const levels = [sorted(bids, -1), sorted(asks, 1)]
    const text = JSON.stringify(levels)
    this.tops.set(`${name} ${time}`, levels.map((side) => side[0]?.[0]).join(' '))
    this.hashes.set(`${name} ${time}`, createHash('sha256').update(text).digest('hex'))
  }
}

/** An empty project with the built client in it, the credentials, and the program of the README, unchanged. */
function projectOf(credentials: object): string {
  ensureBuilt()
  const project = join(folder.path, 'project')
  mkdirSync(join(project, 'node_modules/@tidegate'), { recursive: true })
  mkdirSync(join(project, 'data'))
  symlinkSync(join(ROOT, 'packages/client'), join(project, 'node_modules/@tidegate/client'))
  writeFileSync(join(project, 'data/demo-client.json'), JSON.stringify(credentials))
  writeFileSync(join(project, 'program.mjs'), programOfReadme())
  copyFileSync(join(import.meta.dirname, 'soak-probe.mjs'), join(project, 'probe.mjs'))
  return project
}

function startPrograms(credentials: object): readonly [readme: RunningCommand, other: RunningCommand] {
  const project = projectOf(credentials)
  const env = { PATH: process.env.PATH, TIDEGATE_CREDENTIALS: join(project, 'data/demo-client.json') }
  const options = { cwd: project, env }
  const other = ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, 'soak-program.ts')]
  return [
    startProgram(process.execPath, ['--expose-gc', '--import', './probe.mjs', 'program.mjs'], options),
    startProgram(process.execPath, ['--expose-gc', ...other], options),
  ]
}

function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line))
}

/** What the program of the README prints: a time, the best bid, the best ask. */
function topsOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    const [time, ...best] = line.split(' ')
    return best.length === 2
      ? [{ top: { market: 'BTCUSD', status: 'LIVE', time: time as string, best: best.join(' ') } }]
      : []
  })
}

/** Compares what was printed with the other client. */
function compare(lines: readonly Line[], reference: Reference) {
  const compared = { books: 0, tops: 0 }
  const wrong: object[] = []
  for (const { book, top } of lines) {
    const [kind, shown, expected] =
      book !== undefined
        ? (['books', book.hash, reference.hashes.get(`${book.market} ${book.time}`)] as const)
        : (['tops', top?.best, reference.tops.get(`${top?.market} ${top?.time.slice(0, 23)}Z`)] as const)
    if ((book ?? top)?.status !== 'LIVE' || expected === undefined) continue
    compared[kind]++
    if (shown !== expected) wrong.push({ ...(book ?? top), expected })
  }
  const memory = lines.flatMap(({ memory: each }) => (each === undefined ? [] : [each]))
  return { ...compared, wrong, memory }
}

it(
  `the client keeps right books for ${minutes} minutes, without a leak`,
  async () => {
    const service = await DisturbedService.start(folder.path)
    onTestFinished(() => service.stop('SIGKILL'))
    const created = await service.operator.createClient()
    const names = { client_id: created.clientId, client_secret: created.clientSecret, scopes: [STREAM_SCOPE] }
    const credentials = { ...names, base_url: service.http, auth_url: service.http, ws_url: service.ws }
    const reference = new Reference(async (onMessage) => {
      const token = await tokenOf({ ...service, folder: folder.path }, created)
      const onBook = (message: object, client: SampleClient): void => {
        const { channel, payload } = message as { channel?: string; payload?: { market?: string } }
        if (channel === 'market_data') onMessage(client, String(payload?.market))
      }
      const wsUrl = service.directWs
      return SampleClient.connect({ wsUrl, token, messagesKept: 1, executionsKept: 1, onMessage: onBook })
    })
    const referenceRunning = reference.run()
    const programs = startPrograms(credentials)
    onTestFinished(() => programs.forEach(({ child }) => void child.kill('SIGKILL')))
    const deadline = performance.now() + minutes * 60_000
    const torture = tortureUntil(deadline)
    let disturbances = 0
    for (; performance.now() < deadline; disturbances++) {
      await sleep(DISTURBANCE_MILLISECONDS)
      await service.disturb(disturbances)
    }
    await sleep(20_000)
    const [readme, other] = await Promise.all(
      programs.map(async ({ child, result }) => {
        child.kill('SIGKILL')
        return result
      }),
    )
    const ended = reference.end()
    const tortured = await torture
    await service.stop('SIGTERM')
    await ended
    await referenceRunning

    const ofReadme = [...linesOf(readme?.stderr ?? ''), ...topsOf(readme?.stdout ?? '')]
    const ofOther = linesOf(other?.stdout ?? '')
    const events = ofOther.flatMap(({ event }) => (event === undefined ? [] : [event]))
    const result = {
      minutes,
      disturbances,
      connections: events.filter(({ type }) => type === 'CONNECTED').length,
      faults: events.filter(({ type, reason }) => type === 'RESYNC' && !NOTICE.test(reason ?? '')),
      readme: compare(ofReadme, reference),
      other: compare(ofOther, reference),
      problems: reference.problems,
      tortured,
    }
    if (logFile !== undefined) appendFileSync(logFile, `${JSON.stringify(result)}\n`)
    expect([result.readme.wrong, result.other.wrong, result.faults, result.problems, tortured.wrong]).toEqual(
      Array(5).fill([]),
    )
    for (const { books, tops, memory } of [result.readme, result.other]) {
      expect(books).toBeGreaterThan(20 * minutes)
      expect(tops).toBeGreaterThan(20 * minutes)
      expect(memory.at(-1)?.heapBytes).toBeLessThan((memory[1]?.heapBytes ?? 0) + 4_000_000)
    }
    const last = (lines: readonly Line[], name: string) =>
      lines.findLast(({ book }) => book?.market === name)?.book?.status
    expect([last(ofReadme, 'BTCUSD'), ...MARKETS.map((name) => last(ofOther, name))]).toEqual(['LIVE', 'LIVE', 'LIVE'])
  },
  TIMEOUT_MILLISECONDS,
)

/** The program of the README under `torture`, again and again. */
async function tortureUntil(deadline: number): Promise<{ runs: number; right: number; wrong: string[] }> {
  const total = { runs: 0, right: 0, wrong: [] as string[] }
  const command = readmeProgram(folder.path)
  while (performance.now() < deadline) {
    const { error, results } = await runTorture(folder.path, ['--pace', '300', '--', ...command]).ended
    total.runs++
    total.right += results.filter(({ outcome }) => outcome === 'right').length
    const wrong = results.filter(({ outcome }) => outcome === 'wrong').map(({ name }) => name)
    total.wrong.push(...wrong, ...(error === '' ? [] : [error]))
  }
  return total
}
