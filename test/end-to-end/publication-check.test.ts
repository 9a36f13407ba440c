/**
 * `tidegate check-publisher` against a service and its relay: what the service publishes obeys the rules that it expects of
 * others, also where sessions resume and messages are conflated.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { checkPull } from '../../src/conformance/judge/publisher/check-publisher-run.ts'
import { PULL_SCENARIOS } from '../../src/conformance/judge/publisher/pull-scenarios.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import {
  market,
  newToken,
  type ServiceInside,
  startServiceInside,
  temporaryFolder,
} from '../support/running-service.ts'

const folder = temporaryFolder()
const running: ServiceInside[] = []
afterAll(async () => {
  for (const service of running.reverse()) await service.stop()
  folder.remove()
})

async function start(name: string, source: string, flags: Readonly<Record<string, string>>): Promise<ServiceInside> {
  const path = join(folder.path, name)
  mkdirSync(path)
  const all = { 'simulator.allowed': 'true', 'simulator.rate': '50', ...flags }
  const service = await startServiceInside(path, [market('BTC', 2, 50, source)], all)
  running.push(service)
  return service
}

async function findings(service: ServiceInside) {
  const check = checkPull(
    {
      markets: [{ symbol: 'BTCUSD', decimals: { price: 2, amount: 8 } }],
      // Nothing ends earlier because a message is late: the waits for messages are limits.
      times: { observe: 1_500, answer: 20_000, stall: 500, heartbeat: 120_000, connect: 20_000 },
      clock: createSystemClock(),
      backlogBytesMax: 64 * 1_048_576,
      bookEntriesMax: 1_000,
      restart: undefined,
      onProgress: () => undefined,
    },
    { url: service.ws, token: await newToken(service) },
  )
  const results = await check.results
  expect(results.map(({ name }) => name)).toEqual(PULL_SCENARIOS.map(({ name }) => name))
  expect(results.find(({ name }) => name === 'resume-last')?.note).toBe('resumed true')
  return results.flatMap(({ name, findings: all }) => all.map((finding) => ({ scenario: name, ...finding })))
}

it('the example publication breaks no rule, and nor does its relay', async () => {
  const first = await start('first', 'simulator', {})
  const { clientId, clientSecret } = await first.operator.createClient()
  const up = {
    kind: 'tidegate',
    url: first.ws,
    client_id: clientId,
    client_secret: clientSecret,
    auth_url: first.http,
  }
  const second = await start('second', 'up:BTCUSD', { feeds: JSON.stringify({ up }) })
  expect(await Promise.all([findings(first), findings(second)])).toEqual([[], []])
})
