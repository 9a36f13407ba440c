import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Fetched } from '../../../../src/streaming/sources/venues/venue.ts'
import { fetchText, VenueRequests } from '../../../../src/streaming/sources/venues/venue-http.ts'
import { VirtualClock } from '../../../support/virtual-clock.ts'

/** Below all that a system gives away by itself, and of no known use. */
const UNUSED_PORT = 2

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () =>
    new Promise((resolve) => {
      server.closeAllConnections()
      server.close(resolve)
    })
  opened.push({ close })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const get = (url: string) => fetchText(url, new AbortController().signal)

describe('the text behind an address', () => {
  it("a venue's text is the body of a response with 200", async () => {
    const url = await serve((request, response) => response.end(`${request.method} ${request.url} ä`))
    expect(await get(`${url}/a?b=c`)).toEqual({ value: 'GET /a?b=c ä' })
  })

  it("a venue's response with any other status is a problem, with the beginning of its text", async () => {
    const url = await serve((_request, response) => response.writeHead(400).end(`{"code":-1121}${'x'.repeat(1000)}`))
    expect(await get(url)).toEqual({ problem: `HTTP 400 {"code":-1121}${'x'.repeat(186)}` })
  })

  it.each([
    ['in seconds', { 'retry-after': '7' }, 7_000],
    ['as a date', { date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, 60_000],
  ])(
    "a venue's refusal names how long to wait, where the venue does, %s",
    async (_name, headers, retryAfterMilliseconds) => {
      const url = await serve((_request, response) => response.writeHead(429, headers).end())
      expect(await get(url)).toEqual({ problem: 'HTTP 429', retryAfterMilliseconds })
    },
  )

  it("a venue's redirect is not followed, because it could lead anywhere", async () => {
    const url = await serve((request, response) => {
      if (request.url === '/there') response.end('there')
      else response.writeHead(302, { location: '/there' }).end()
    })
    expect(await get(url)).toEqual({ problem: 'unexpected redirect' })
  })

  it("a venue's request is a problem without an answer, or when it was cancelled", async () => {
    expect(await get(`http://127.0.0.1:${UNUSED_PORT}`)).toEqual({ problem: expect.stringContaining('ECONNREFUSED') })
    const giving = new AbortController()
    const silent = fetchText(await serve(() => giving.abort()), giving.signal)
    expect(await silent).toEqual({ problem: 'This operation was aborted' })
  })
})

describe('the requests of a venue', () => {
  function setUp() {
    const clock = new VirtualClock()
    const requests = new VenueRequests(clock, { burst: 3, perSecond: 2 })
    const log: string[] = []
    const signals: AbortSignal[] = []
    const answers: ((fetched: Fetched<string>) => void)[] = []
    const ask = (name: string, giving = new AbortController()) => {
      const run = (signal: AbortSignal) => {
        log.push(`ask ${name}`)
        signals.push(signal)
        return new Promise<Fetched<string>>((resolve) => answers.push(resolve))
      }
      void requests.run(run, giving.signal).then((fetched) => {
        log.push(`${name}: ${'value' in fetched ? fetched.value : fetched.problem}`)
      })
      return giving
    }
    const tick = () => new Promise(setImmediate)
    return { clock, requests, log, signals, answers, ask, tick }
  }

  it('the requests of a venue are made one after the other, in order', async () => {
    const { log, answers, ask, tick } = setUp()
    ask('A')
    ask('B')
    await tick()
    expect(log).toEqual(['ask A'])
    answers[0]?.({ value: 'yes' })
    await tick()
    expect(log.sort()).toEqual(['A: yes', 'ask A', 'ask B'])
  })

  it('all requests of a venue wait when the venue asks for patience', async () => {
    const { clock, log, answers, ask, tick } = setUp()
    ask('A')
    await tick()
    answers[0]?.({ problem: 'HTTP 429', retryAfterMilliseconds: 5_000 })
    ask('B')
    await tick()
    clock.advance(4_999)
    await tick()
    expect(log).toEqual(['ask A', 'A: HTTP 429'])
    clock.advance(1)
    await tick()
    expect(log).toEqual(['ask A', 'A: HTTP 429', 'ask B'])
  })

  it('the requests of a venue are limited to its concurrency, and its rate from one second on', async () => {
    const { clock, log, answers, ask, tick } = setUp()
    const asked = () => log.filter((line) => line.startsWith('ask')).length
    for (let count = 0; count < 5; count++) ask('A')
    const given = ask('B')
    const answerAll = async () => {
      for (let count = 0; count < 10; count++) {
        for (const answer of answers.splice(0)) answer({ value: 'yes' })
        await tick()
      }
    }
    await answerAll()
    expect(asked()).toBe(3)
    clock.advance(499)
    await answerAll()
    expect(asked()).toBe(3)
    clock.advance(1)
    await answerAll()
    expect(asked()).toBe(4)
    clock.advance(500)
    await answerAll()
    expect(asked()).toBe(5)
    given.abort()
    await answerAll()
    expect(log.at(-1)).toBe('B: the request was cancelled')
  })

  it('the requests of a venue that were cancelled are not made, and do not delay others', async () => {
    const { clock, log, answers, ask, tick } = setUp()
    ask('A')
    await tick()
    const second = ask('B')
    ask('C')
    second.abort()
    answers[0]?.({ problem: 'HTTP 429', retryAfterMilliseconds: 5_000 })
    await tick()
    clock.advance(5_000)
    await tick()
    expect(log.filter((line) => line.startsWith('ask'))).toEqual(['ask A', 'ask C'])
    expect(log).toContain('B: the request was cancelled')
  })

  it('the requests of a venue end with their time, and when they are given up', async () => {
    const { clock, log, signals, ask, tick } = setUp()
    ask('A')
    await tick()
    clock.advance(9_999)
    expect(signals[0]?.aborted).toBe(false)
    clock.advance(1)
    expect(signals[0]?.aborted).toBe(true)
    await tick()
    expect(log).toEqual(['ask A', 'A: no answer within 10 s'])
    const giving = ask('B')
    await tick()
    giving.abort()
    expect(signals[1]?.aborted).toBe(true)
  })

  it('the requests of a venue are problems when their maker throws', async () => {
    const { requests } = setUp()
    const run = () => Promise.reject<Fetched<string>>(new Error('no good'))
    expect(await requests.run(run, new AbortController().signal)).toEqual({ problem: 'no good' })
  })

  it('the requests of a venue are refused when too many wait', async () => {
    const { requests, ask } = setUp()
    for (let count = 0; count < 10_000; count++) ask('A')
    const run = () => Promise.resolve({ value: 'yes' })
    expect(await requests.run(run, new AbortController().signal)).toEqual({
      problem: '10000 requests are already queued',
    })
  })
})
