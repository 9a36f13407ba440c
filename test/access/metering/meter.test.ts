/** The meter between two writes. */
import { expect, it } from 'vitest'
import { Meter } from '../../../src/access/metering/meter.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'

it('a meter with many clients passes on their usage in several event-loop ticks, each counter once', async () => {
  let ticks = 0
  const system = createSystemClock()
  const meter = new Meter({
    ...system,
    endOfTick(callback) {
      ticks += 1
      system.endOfTick(callback)
    },
  })
  const holderOf = (client: number) => ({ customerId: 'customer', clientId: `${client}` })
  for (let client = 0; client < 2_000; client++) {
    meter.countConnection(holderOf(client), 1)
    for (const market of ['A', 'B']) meter.of(holderOf(client)).of(market, 'market_data').count(1, client)
  }
  const taken = new Map<string, number>()
  const addTo = async () =>
    meter.take(({ clientId, market, bytes }) => {
      const key = `${clientId} ${market}`
      taken.set(key, (taken.get(key) ?? 0) + bytes)
    })
  let hasTicked = false
  const taking = addTo()
  system.endOfTick(() => {
    hasTicked = true
    // Counted meanwhile, for a client that was visited and for a new one.
    meter.of(holderOf(0)).of('A', 'market_data').count(1, 5)
    meter.of(holderOf(2_000)).of('A', 'market_data').count(1, 2_000)
  })
  await taking
  expect(hasTicked).toBe(true)
  expect(ticks).toBeGreaterThanOrEqual(5)
  await addTo()
  expect(taken.get('0 A')).toBe(5)
  for (let client = 1; client <= 2_000; client++) expect(taken.get(`${client} A`)).toBe(client)
})
