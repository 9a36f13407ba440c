/** `tidegate admin event tail`: every event once, in order, as text or JSON, until it is stopped. */
import { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type EventTailOptions, tailEvents } from '../../src/cli/admin/event-tail.ts'
import { createSystemClock } from '../../src/platform/base/clock.ts'
import { until } from '../support/awaited.ts'
import { OPERATOR_TOKEN, type RestCustomer, RestNode } from '../support/rest.ts'
import { newAccount } from '../support/rules.ts'

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open({ hasTestSeed: true })
})
afterAll(() => node?.close())

/** Runs the verb. `lines` grows until `stop` is called. */
function tail({ customerId }: RestCustomer, options: Partial<EventTailOptions> = {}) {
  const lines: string[] = []
  let stop = (): void => undefined
  const stdout = Object.assign(new EventEmitter(), {
    write: (text: string): boolean => {
      lines.push(...text.trimEnd().split('\n'))
      return true
    },
  })
  const running = tailEvents({
    api: { url: node.operatorUrl, token: OPERATOR_TOKEN },
    path: `/customers/${customerId}/events`,
    after: undefined,
    types: undefined,
    isForPeople: false,
    ...options,
    environment: {
      stdout,
      clock: createSystemClock(),
      onStopSignal(stopCommand) {
        stop = stopCommand
        return () => undefined
      },
    },
  })
  return { lines, running, stdout, stop: () => stop() }
}

const sequencesOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).sequence)

it('event tail shows the events after a sequence and later ones, once each', async () => {
  const who = await node.newCustomer()
  await newAccount(who)
  const { lines, running, stop } = tail(who, { after: '0' })
  await until('the first events', () => lines.length >= 2)
  await newAccount(who)
  await until('the next event', () => lines.length >= 3)
  stop()
  await running
  expect(sequencesOf(lines)).toEqual([1, 2, 3])
})

it('event tail shows text to people, only the wanted types, and begins after the last event', async () => {
  const who = await node.newCustomer()
  const { lines, running, stdout } = tail(who, { isForPeople: true, types: 'identity.account.pending' })
  await until(
    'an event after the start',
    async () => {
      if (lines.length === 0) await newAccount(who)
      return lines.length > 0
    },
    () => new Promise((resolve) => setTimeout(resolve, 300)),
  )
  expect(lines[0]).toMatch(/^\S+Z {2}\d+ {2}identity\.account\.pending {2}account\/\S+ {2}PENDING$/)
  // A closed pipe stops it too.
  stdout.emit('error', new Error('EPIPE'))
  await running
})

it('event tail refuses an unknown type, and reports the service’s errors', async () => {
  const who = await node.newCustomer()
  await expect(tail(who, { types: 'a.b' }).running).rejects.toThrow("--types: 'a.b' is not an event type")
  await expect(tail(who, { after: 'x' }).running).rejects.toThrow('after')
})

it('event tail ends at once, without an error, when it is stopped while the service does not answer', async () => {
  let asked = 0
  const silent = createServer(() => asked++).listen(0, '127.0.0.1')
  await until('the listener', () => silent.listening)
  const api = { url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, token: OPERATOR_TOKEN }
  const { running, stop } = tail(await node.newCustomer(), { api, after: '0' })
  await until('the call', () => asked > 0)
  const start = performance.now()
  stop()
  await running
  expect(performance.now() - start).toBeLessThan(5_000)
  silent.closeAllConnections()
  silent.close()
})

it('event tail reads no further page while its reader does not take the last one', async () => {
  let asked = 0
  const page = { items: [{ sequence: 1, type: 'a', time: 't', subject: 's', data: {} }], next_page_cursor: 'more' }
  const endless = createServer((_, response) => {
    asked++
    response.end(JSON.stringify(page))
  }).listen(0, '127.0.0.1')
  await until('the listener', () => endless.listening)
  const api = { url: `http://127.0.0.1:${(endless.address() as AddressInfo).port}`, token: OPERATOR_TOKEN }
  const { lines, running, stdout, stop } = tail(await node.newCustomer(), { api, after: '0' })
  const write = stdout.write
  stdout.write = (text) => !write(text)
  await until('a page', () => lines.length > 0)
  const before = asked
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(asked).toBe(before)
  stdout.emit('drain')
  await until('the next page', () => asked > before)
  stop()
  await running
  endless.closeAllConnections()
  endless.close()
})
