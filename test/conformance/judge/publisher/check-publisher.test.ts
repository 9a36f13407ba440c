/** `tidegate check-publisher` against a correct publisher, and against publishers with one deliberate mistake each. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { checkPull, checkPush } from '../../../../src/conformance/judge/publisher/check-publisher-run.ts'
import type { CheckOptions, CheckTimes, ScenarioResult } from '../../../../src/conformance/judge/publisher/check-run.ts'
import { PULL_SCENARIOS } from '../../../../src/conformance/judge/publisher/pull-scenarios.ts'
import { PUSH_SCENARIOS } from '../../../../src/conformance/judge/publisher/push-scenarios.ts'
import { PUBLISHER_RULES } from '../../../../src/conformance/judge/publisher/rules.ts'
import { createSystemClock } from '../../../../src/platform/base/clock.ts'
import { once, until } from '../../../support/awaited.ts'
import {
  type Mistake,
  MistakenPublisher,
  type MistakenPublisherOptions,
  TEST_TOKEN,
} from '../../../support/mistaken-publisher.ts'
import { ENGINE_DECIMALS, PublishingEngine } from '../../../support/publishing-engine.ts'
import { Random } from '../../../support/random.ts'
import { TestPublisher } from '../../../support/test-publisher.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

/** Of the clock of the publisher: 4 ms pass with each of its steps. */
const TIMES: CheckTimes = { observe: 200, answer: 4_000, stall: 150, heartbeat: 3_000, connect: 4_000 }
/** Waits for what never arrives. */
const IMPATIENT: Partial<CheckTimes> = { answer: 1_000, connect: 700 }

/** Levels of a book; the engine has fewer. */
const BOOK_ENTRIES_MAX = 1_000

function optionsFor(publisher: MistakenPublisher, times: Partial<CheckTimes>): CheckOptions {
  return {
    markets: [{ symbol: 'BTCUSD', decimals: undefined }],
    times: { ...TIMES, ...times },
    clock: publisher.clock,
    // The kernels of both sides keep up to 10 MiB.
    backlogBytesMax: 12 * 1_048_576,
    bookEntriesMax: BOOK_ENTRIES_MAX,
    restart: async () => publisher.restart(),
    onProgress(scenario) {
      publisher.isSlowlyRead = scenario === 'slow-reader'
    },
  }
}

async function pull(
  options: MistakenPublisherOptions,
  times: Partial<CheckTimes> = {},
  limits: Partial<CheckOptions> = {},
) {
  const publisher = new MistakenPublisher(options)
  const url = await publisher.listen()
  const all = { ...optionsFor(publisher, times), ...limits }
  const results = await checkPull(all, { url, token: TEST_TOKEN }).results
  await publisher.stop()
  return results
}

async function push(options: MistakenPublisherOptions, times: Partial<CheckTimes> = {}) {
  const publisher = new MistakenPublisher(options)
  const address = { host: '127.0.0.1', port: 0, token: TEST_TOKEN }
  const check = checkPush(optionsFor(publisher, times), address, ({ port, token }) => {
    publisher.connect(`ws://127.0.0.1:${port}/`, token)
  })
  const results = await check.results
  await publisher.stop()
  return results
}

/** The names of the rules that were found broken, with the warnings. */
function namesOf(results: readonly ScenarioResult[]): string[] {
  return [...new Set(results.flatMap(({ findings }) => findings.map(({ name }) => name)))]
}

function outcomes(results: readonly ScenarioResult[]): string[] {
  return results.map(({ name, outcome, note }) => `${name} ${outcome} ${outcome === 'right' ? '' : note}`.trimEnd())
}

/** Each case takes seconds of waiting: every third in an ordinary run, all of them in the long one. */
function sampleOf<Case>(cases: readonly Case[]): readonly Case[] {
  return process.env.TIDEGATE_LONG === '1' ? cases : cases.filter((_, index) => index % 3 === 0)
}

const RIGHT = { pull: 13, push: 10 }

describe.concurrent('a publisher to which the check connects', () => {
  it.each([false, true])(
    'a correct publisher to which the check connects breaks no rule (orders: %s)',
    async (publishesOrders) => {
      const results = await pull({ publishesOrders })
      expect(results.flatMap(({ findings }) => findings)).toEqual([])
      expect(outcomes(results).filter((text) => text.endsWith(' right'))).toHaveLength(RIGHT.pull)
    },
  )

  it.each<[Mistake, string, Partial<CheckTimes>?]>(
    sampleOf([
      ['skips-number', 'numbers-skipped'],
      ['reuses-number', 'number-reused'],
      ['repeats-message', 'number-repeated'],
      ['reuses-epoch', 'epoch-reused'],
      ['new-epoch-without-snapshot', 'epoch-without-snapshot'],
      ['float-price', 'number-not-text'],
      ['too-many-decimals', 'too-many-decimals'],
      ['crossed', 'crossed-book'],
      ['level-twice', 'level-twice'],
      ['removes-unknown-level', 'level-unknown'],
      ['execution-twice', 'execution-twice'],
      ['no-time', 'message-malformed'],
      ['time-backwards', 'time-backwards'],
      ['wrong-prev', 'prev-wrong'],
      ['wrong-digest', 'digest-wrong'],
      ['no-heartbeat', 'heartbeat-missing', { heartbeat: 300 }],
      ['no-instrument', 'snapshot-without-instrument'],
      ['incomplete-snapshot', 'snapshot-differs'],
      ['loses-executions-on-resume', 'execution-lost'],
      ['resumes-without-messages', 'resume-skips'],
      ['resumes-anything', 'resumed-without-past'],
      ['no-resumed', 'acknowledgement-wrong'],
      ['no-snapshot', 'snapshot-missing', IMPATIENT],
      ['sends-after-unsubscribe', 'message-unrequested'],
      ['accepts-unknown-market', 'unknown-market-accepted'],
      ['accepts-any-token', 'token-not-checked'],
      ['no-subprotocol', 'handshake-refused', IMPATIENT],
      ['no-pong', 'ping-unanswered', { answer: 1_500 }],
      ['ends-on-malformed', 'publisher-stopped'],
      ['keeps-epoch', 'epoch-kept'],
      ['continues-early', 'continues-wrong'],
    ]),
  )(
    'a publisher to which the check connects that %s is reported as %s and by no other name',
    async (mistake, name, times) => {
      expect(namesOf(await pull({ mistake }, times))).toEqual([name])
    },
  )

  it.each<[Mistake, string]>([
    ['unknown-order', 'order-unknown'],
    ['order-twice', 'order-added-twice'],
    ['trade-too-large', 'trade-exceeds-order'],
    ['levels-of-orders', 'orders-and-levels-mixed'],
  ])('a publisher to which the check connects with single orders that %s is reported as %s', async (mistake, name) => {
    expect(namesOf(await pull({ mistake, publishesOrders: true }))).toEqual([name])
  })
})

describe.concurrent('a publisher to which the check connects, besides its mistakes', () => {
  it("a publisher's book is too large where the service accepts no such book", async () => {
    expect(namesOf(await pull({}, {}, { bookEntriesMax: 3 }))).toEqual(['book-too-large'])
  })

  it('a publisher that ends no subscription on request is reported', async () => {
    expect(namesOf(await pull({ mistake: 'refuses-unsubscribe' }))).toEqual(['acknowledgement-wrong'])
  })

  it('a publisher that neither acknowledges nor sends heartbeats is reported for both', async () => {
    const results = await pull({ mistake: 'ignores-heartbeat' }, { heartbeat: 300 })
    expect(namesOf(results).sort()).toEqual(['acknowledgement-wrong', 'heartbeat-missing'])
    expect(results[0]?.findings.map(({ name }) => name)).toContain('acknowledgement-wrong')
  })

  it.each([
    ['NONE', TEST_TOKEN, 'market-refused'],
    ['BTCUSD', 'another-token', 'handshake-refused'],
  ])(
    'a publisher is checked no further when the market %s with the token %s is refused: %s',
    async (symbol, token, name) => {
      const publisher = new MistakenPublisher({})
      const url = await publisher.listen()
      const options = { ...optionsFor(publisher, IMPATIENT), markets: [{ symbol, decimals: undefined }] }
      const results = await checkPull(options, { url, token }).results
      await publisher.stop()
      expect(results.map(({ outcome }) => outcome)).toEqual(['wrong', ...Array(RIGHT.pull - 1).fill('skipped')])
      expect(namesOf(results)).toEqual([name])
      if (token !== TEST_TOKEN) expect(results[0]?.findings[0]?.examples[0]?.detail).toContain('answered with 401')
    },
  )

  it('a token that the refusal of a handshake repeats is not reported', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (request) => {
        const body = /^authorization: .*$/im.exec(String(request))?.[0] ?? ''
        socket.end(`HTTP/1.1 401 Unauthorized\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const publisher = new MistakenPublisher({})
    const options = { ...optionsFor(publisher, IMPATIENT), clock: createSystemClock() }
    const token = 'a-token-of-the-operator'
    const results = await checkPull(options, { url: `ws://127.0.0.1:${port}/`, token }).results
    await publisher.stop()
    server.close()
    const detail = results[0]?.findings[0]?.examples[0]?.detail
    expect(detail).toMatch(/^the handshake was answered with 401 authorization: Bearer TOKEN$/i)
    expect(JSON.stringify(results)).not.toContain(token)
  })

  it('a handshake that never ends leaves no connection open when the check is over', async () => {
    let [opened, closed] = [0, 0]
    const server = createServer((socket) => {
      opened++
      socket.write('HTTP/1.1 101 Switching Protocols\r\n')
      const header = setInterval(() => socket.write('x: 1\r\n'), 50)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        clearInterval(header)
        closed++
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const publisher = new MistakenPublisher({})
    const options = { ...optionsFor(publisher, { answer: 200 }), clock: createSystemClock() }
    const results = await checkPull(options, { url: `ws://127.0.0.1:${port}/`, token: undefined }).results
    await publisher.stop()
    expect(namesOf(results)).toEqual(['handshake-refused'])
    await until('the end of every connection', () => closed === opened)
    expect(opened).toBe(1)
    server.close()
  })

  it('the publisher of the source tests breaks no rule', async () => {
    const clock = new VirtualClock()
    const random = new Random(7)
    const engine = new PublishingEngine({ symbol: 'BTCUSD', random, publishesOrders: false, keptMax: 10_000 })
    const publisher = await TestPublisher.start([engine], { token: TEST_TOKEN })
    const steps = setInterval(() => {
      publisher.publish(engine.step())
      publisher.heartbeat()
      clock.advance(4)
    }, 4)
    const restart = async () => {
      await publisher.kill()
      engine.restart()
      await publisher.listen()
    }
    const options: CheckOptions = {
      markets: [{ symbol: 'BTCUSD', decimals: ENGINE_DECIMALS }],
      times: TIMES,
      clock,
      backlogBytesMax: 12 * 1_048_576,
      bookEntriesMax: BOOK_ENTRIES_MAX,
      restart,
      onProgress: () => undefined,
    }
    const results = await checkPull(options, { url: publisher.url, token: TEST_TOKEN }).results
    clearInterval(steps)
    await publisher.kill()
    expect(results.flatMap(({ findings }) => findings)).toEqual([])
    expect(outcomes(results).filter((text) => text.endsWith(' right'))).toHaveLength(RIGHT.pull)
  })
})

describe.concurrent('a publisher that connects to the check', () => {
  it.each([false, true])(
    'a correct publisher that connects to the check breaks no rule (orders: %s)',
    async (publishesOrders) => {
      const results = await push({ publishesOrders })
      expect(results.flatMap(({ findings }) => findings)).toEqual([])
      expect(outcomes(results).filter((text) => text.endsWith(' right'))).toHaveLength(RIGHT.push)
    },
  )

  it.each<[Mistake, string, Partial<CheckTimes>?]>(
    sampleOf([
      ['skips-number', 'numbers-skipped'],
      ['ignores-accepted', 'accepted-ignored', IMPATIENT],
      ['ignores-request', 'snapshot-missing', IMPATIENT],
      ['stays-away', 'not-connected', { connect: 300 }],
      ['reconnects-at-once', 'reconnect-loop'],
      ['no-subprotocol', 'handshake-wrong', { connect: 300 }],
      ['no-heartbeat', 'heartbeat-missing', { heartbeat: 300, observe: 600 }],
      ['no-pong', 'ping-unanswered', IMPATIENT],
      ['other-market', 'market-unknown'],
      ['keeps-epoch', 'epoch-kept'],
    ]),
  )('a publisher that connects to the check that %s is reported as %s', async (mistake, name, times) => {
    expect(namesOf(await push({ mistake }, times))).toContain(name)
  })
})

it('an engine that loads its book after a restart for longer than is observed has not kept its epoch', async () => {
  const results = await push({ mistake: 'starts-slowly' })
  expect(results.flatMap(({ findings }) => findings)).toEqual([])
})

it('a publisher that connects again and then publishes nothing is reported as accepted-ignored', async () => {
  const results = await push({ mistake: 'falls-silent' }, { answer: 300 })
  const cut = results.find(({ name }) => name === 'connection-cut')
  expect(cut?.findings.map(({ name, examples }) => [name, examples[0]?.detail])).toEqual([
    ['accepted-ignored', 'nothing within 0.3 s after the connection'],
  ])
})

describe.runIf(process.env.TIDEGATE_LONG === '1')('a publisher that keeps what is not read', () => {
  it('a publisher with an unbounded backlog is reported as backlog-unbounded and by no other name', async () => {
    expect(namesOf(await pull({ mistake: 'keeps-everything' }, { stall: 2_000 }))).toEqual(['backlog-unbounded'])
  })
})

describe('docs/how-to/test-your-publisher.md', () => {
  const page = readFileSync(new URL('../../../../docs/how-to/test-your-publisher.md', import.meta.url), 'utf8')
  const rowsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('| `'))

  it('docs/how-to/test-your-publisher.md has a row for every scenario and every rule, and no other', () => {
    const scenarios = [...PULL_SCENARIOS, ...PUSH_SCENARIOS].map(
      ({ name, plays, expects }) => `| \`${name}\` | ${plays} | ${expects} |`,
    )
    const rules = Object.entries(PUBLISHER_RULES).map(
      ([name, { rule, section, ...rest }]) =>
        `| \`${name}\` | ${rule}${'isWarning' in rest ? ' (warning)' : ''} | ${section} |`,
    )
    expect(rowsOf(page)).toEqual([...scenarios, ...rules])
  })

  it('docs/how-to/test-your-publisher.md names sections that the protocol has', () => {
    const protocol = readFileSync(new URL('../../../../docs/how-to/feeding-your-own-book.md', import.meta.url), 'utf8')
    const headings = [...protocol.replaceAll('`', '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading)
    const sections = new Set(Object.values(PUBLISHER_RULES).map(({ section }) => section))
    expect([...sections].filter((section) => !headings.includes(section))).toEqual([])
  })
})
