/**
 * The cost of a body of the largest size, with any content, at every route of both listeners that accepts one. Routes
 * and the members of their bodies are enumerated, so a new route is tested as well. CPU time is measured, not elapsed
 * time; the client runs in this process too and is included.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../src/platform/base/ids.ts'
import { captureLog } from '../support/captured-log.ts'
import { bodiesWith, HOSTILE_VALUES, type Schema } from '../support/hostile-bodies.ts'
import { type DeclaredRoute, type RestAnswer, type RestCustomer, RestNode } from '../support/rest.ts'

/**
 * Client and server together. On an idle machine a mebibyte takes up to 130 ms, and on a busy one, whose processor
 * time counts more, twice as much. Before the limits a rejected one took up to 440 ms idle, and the worst one 97 s.
 */
const CPU_MILLISECONDS_MAX = 300
/**
 * The compiler and the garbage collector run at any time: the minimum of this many measurements of a request counts.
 */
const MEASUREMENTS_MAX = 3
/**
 * Each value is tried in every n-th member of a body, the next value in the members after those; the long run tries
 * all.
 */
const PLACES_STEP = process.env.TIDEGATE_LONG === '1' ? 1 : 12
/** An error response never repeats a long value. */
const ANSWER_CHARACTERS_MAX = 3_000

const { log, lines } = captureLog()

let node: RestNode
let customer: RestCustomer

beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true, log })
  customer = await node.newCustomer()
})
afterAll(() => node?.close())

function send({ listener, method, url }: DeclaredRoute, body: Buffer): Promise<RestAnswer> {
  const path = url.replaceAll(/:\w+/g, () => newId())
  return listener === 'public'
    ? customer.call(method, path, body)
    : node.operator(method, path.replace('/admin/v1', ''), body)
}

async function leastCpuMilliseconds(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let count = 0; count < MEASUREMENTS_MAX && least > CPU_MILLISECONDS_MAX; count++) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, (user + system) / 1_000)
  }
  return least
}

it('a body with many faults is validated up to the first one at every route', async () => {
  const members = Array.from({ length: 100 }, (_, index) => [`unknown ${index}`, index])
  const body = Buffer.from(JSON.stringify(Object.fromEntries(members)))
  const faultCounts: [string, number | undefined][] = []
  for (const route of node.routes.filter(({ schema }) => schema.body !== undefined)) {
    const { text } = await send(route, body)
    const { errors } = JSON.parse(text) as { readonly errors?: readonly object[] }
    faultCounts.push([`${route.method} ${route.url}`, errors?.length])
  }
  expect(faultCounts.length).toBeGreaterThan(10)
  expect(faultCounts.filter(([, count]) => count !== 1)).toEqual([])
})

describe('a body of a mebibyte', () => {
  const values = Object.entries(HOSTILE_VALUES).map(([what, value], number) => ({ what, value, number }))
  it.each(values)(
    'a body of a mebibyte of $what is validated in bounded time in every member',
    async ({ value, number }) => {
      const routes = node.routes.filter(({ schema }) => schema.body !== undefined)
      expect(routes.length).toBeGreaterThan(10)
      const expensive: string[] = []
      for (const route of routes) {
        let places = number
        for (const { place, body } of bodiesWith(route.schema.body as Schema, value)) {
          if (places++ % PLACES_STEP > 0) continue
          const at = `${route.method} ${route.url} ${place}`
          const milliseconds = await leastCpuMilliseconds(async () => {
            const { status, text } = await send(route, Buffer.from(body))
            // A body of nothing but whitespace is valid; a node without an encryption key cannot encrypt (409).
            expect([200, 400, 404, 409], at).toContain(status)
            expect(text.length, at).toBeLessThan(ANSWER_CHARACTERS_MAX)
          })
          if (milliseconds > CPU_MILLISECONDS_MAX) expensive.push(`${at}: ${milliseconds} ms`)
        }
      }
      expect(expensive).toEqual([])
      expect(lines.filter((line) => line.includes('"level":50'))).toEqual([])
    },
  )
})
