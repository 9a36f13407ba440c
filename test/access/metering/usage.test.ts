/** Metered usage in the store: writes that fail, lost processes, the sums by day, and who reads which usage. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Meter } from '../../../src/access/metering/meter.ts'
import { startUsageUpkeep } from '../../../src/access/metering/usage-upkeep.ts'
import { UsageWriter } from '../../../src/access/metering/usage-writer.ts'
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import { newId } from '../../../src/platform/base/ids.ts'
import { createMetricsRegistry } from '../../../src/platform/base/metrics.ts'
import { type Db, StoreUnavailable } from '../../../src/platform/store/db.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { captureLog } from '../../support/captured-log.ts'
import { Random } from '../../support/random.ts'
import { type RestCustomer, RestNode } from '../../support/rest.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let node: RestNode
beforeAll(async () => {
  node = await RestNode.open()
})
afterAll(() => node?.close())

/** The present, as far ahead as a test sets it. */
function shiftedClock(shift: { milliseconds: number }) {
  const clock = createSystemClock()
  const wallInstant = () => {
    const instant = clock.wallInstant()
    return { ...instant, milliseconds: instant.milliseconds + shift.milliseconds }
  }
  return { ...clock, wallInstant }
}

/** A store some of whose statements fail, before or after they are carried out. */
function failingStore(random: Random): Db {
  const lose = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const choice = random.integer(4)
    if (choice === 0) throw new StoreUnavailable('lost before')
    const result = await work()
    if (choice === 1) throw new StoreUnavailable('lost after')
    return result
  }
  return {
    ...node.db,
    tables: <Tables>() => {
      const tables = node.db.tables<Tables>()
      const executor = new Proxy(tables.getExecutor(), {
        get(target, name) {
          const member = Reflect.get(target, name, target)
          if (typeof member !== 'function') return member
          const call = member.bind(target) as (...given: unknown[]) => Promise<unknown>
          return name === 'executeQuery' ? (...given: unknown[]) => lose(() => call(...given)) : call
        },
      })
      return { getExecutor: () => executor } as typeof tables
    },
    transaction: ((...call: Parameters<Db['transaction']>) =>
      lose(() => node.db.transaction(...call))) as Db['transaction'],
  }
}

function writerWith(options: { meter: Meter; shift?: { milliseconds: number }; db?: Db; node?: string }): UsageWriter {
  const { meter, shift = { milliseconds: 0 }, db = node.db } = options
  return new UsageWriter({
    db,
    clock: shiftedClock(shift),
    log: captureLog().log,
    metrics: createMetricsRegistry(),
    meter,
    node: options.node ?? newId(),
    prepare: async () => undefined,
  })
}

const usageOf = async (query: string) => (await node.operator('GET', `/usage?${query}`)).body.items
const holderOf = ({ customerId, clientId }: RestCustomer) => ({ customerId, clientId })
const since = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString()

describe('written usage', () => {
  it('usage is counted once, though writes fail before and after they are carried out, over hours', async () => {
    const customer = await node.newCustomer()
    const random = new Random(7)
    const shift = { milliseconds: 0 }
    const meter = new Meter(createSystemClock())
    const writer = writerWith({ meter, shift, db: failingStore(random) })
    const expected = { messages: 0, bytes: 0 }
    for (let step = 0; step < 60; step++) {
      const bytes = random.integer(1_000)
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(2, bytes)
      expected.messages += 2
      expected.bytes += bytes
      if (random.chance(0.1)) shift.milliseconds += HOUR
      await writer.write()
    }
    for (let attempt = 0; attempt < 100 && !(await writer.write()); attempt++);
    const query = `customers=${customer.customerId}&to=${since(2 * DAY)}&from=${since(-HOUR)}`
    const [sum] = await usageOf(`${query}&group_by=market,channel`)
    expect(sum).toMatchObject({ market: 'BTCUSD', channel: 'market_data', ...expected })
    const hours = await usageOf(`${query}&group_by=hour`)
    expect(hours.length).toBe(1 + shift.milliseconds / HOUR)
  })

  it('usage that a killed process may have lost is marked, and usage after an orderly stop is not', async () => {
    const customer = await node.newCustomer()
    const start = async (name: string, at: number) => {
      const meter = new Meter(createSystemClock())
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(1, 10)
      const writer = writerWith({ meter, shift: { milliseconds: at }, node: name })
      await writer.write()
      return writer
    }
    const incomplete = async (from: number, to: number) =>
      (await usageOf(`customers=${customer.customerId}&from=${since(from)}&to=${since(to)}`))[0].incomplete
    const name = newId()
    const ended = await start(name, -30 * DAY)
    await ended.start()
    await ended.stop()
    expect(await incomplete(-30 * DAY - HOUR, -30 * DAY + HOUR)).toBe(false)
    await start(name, -20 * DAY)
    await start(name, -20 * DAY + 10_000)
    expect(await incomplete(-20 * DAY - HOUR, -20 * DAY + HOUR)).toBe(true)
    expect(await incomplete(-30 * DAY - HOUR, -30 * DAY + HOUR)).toBe(false)
  })

  it('old hours are summed by day without a difference, and deleted after their time', async () => {
    const customer = await node.newCustomer()
    const random = new Random(3)
    for (let day = 10; day < 25; day++) {
      const shift = { milliseconds: -day * DAY }
      const meter = new Meter(createSystemClock())
      for (const market of ['BTCUSD', 'ETHUSD'])
        meter.of(holderOf(customer)).of(market, 'market_data').count(3, random.integer(9_999))
      await writerWith({ meter, shift }).write()
      shift.milliseconds += HOUR
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(1, random.integer(9_999))
      await writerWith({ meter, shift }).write()
    }
    const query = `customers=${customer.customerId}&group_by=market,day&from=${since(-40 * DAY)}`
    const before = await usageOf(query)
    const clock = createSystemClock()
    const upkeeps = [400, 400, 22].map((days) => ({ days }))
    for (const { days } of upkeeps.slice(0, 2)) {
      const upkeep = startUsageUpkeep({ db: node.db, clock, log: captureLog().log, days: () => days })
      await upkeep.settled()
      await upkeep.stop()
    }
    const { rows } = await sql<{ readonly count: string }>`
      select count(*) as count from usage_hours
      where customer_id = ${customer.customerId} and hour < clock_timestamp() - interval '15 days'
    `.execute(node.db.tables())
    expect(rows).toEqual([{ count: '0' }])
    expect(await usageOf(query)).toEqual(before)
    const upkeep = startUsageUpkeep({ db: node.db, clock, log: captureLog().log, days: () => 20 })
    await upkeep.settled()
    await upkeep.stop()
    const kept = await usageOf(query)
    expect(kept.length).toBeLessThan(before.length)
    expect(before).toEqual(expect.arrayContaining(kept))
  })
})

describe('reading usage', () => {
  it('a customer reads its own usage alone, page by page and as CSV', async () => {
    const [one, other] = [await node.newCustomer(), await node.newCustomer()]
    const meter = new Meter(createSystemClock())
    for (const { customerId, clientId } of [one, other]) {
      const usage = meter.of({ customerId, clientId })
      for (const market of ['AUSD', 'BUSD', 'CUSD']) usage.of(market, 'market_data').count(5, 100)
      usage.control.restRequests += 2
    }
    await writerWith({ meter }).write()
    const [sum] = (await one.call('GET', `/v2/usage?from=${since(-HOUR * 2)}`)).body.items
    expect(sum).toEqual({
      client_id: one.clientId,
      messages: 15,
      bytes: 300,
      connection_seconds: 0,
      rest_requests: 2,
      incomplete: expect.any(Boolean),
    })
    const markets: string[] = []
    let cursor = ''
    do {
      const query = `from=${since(-HOUR * 2)}&group_by=market&markets=AUSD&markets=BUSD&limit=1`.replace(
        /from=[^&]*&/,
        '',
      )
      const { body } = await one.call('GET', `/v2/usage?${query}&page_cursor=${cursor}`)
      markets.push(...body.items.map(({ market }: { market: string }) => market))
      cursor = body.next_page_cursor ?? ''
    } while (cursor !== '')
    expect(markets).toEqual(['AUSD', 'BUSD'])
    const foreign = await one.call('GET', `/v2/usage?clients=${other.clientId}&customers=${other.customerId}`)
    expect(foreign.body.items).toEqual([])
    expect(foreign.headers.get('tidegate-ignored-parameters')).toBe('customers')
    const csv = await one.call('GET', '/v2/usage?group_by=market&channels=market_data', undefined, {
      accept: 'text/csv',
    })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.text.split('\r\n').slice(0, 2)).toEqual([
      'market,messages,bytes,connection_seconds,rest_requests,incomplete',
      expect.stringMatching(/^AUSD,5,100,0,0,(true|false)$/),
    ])
    expect((await one.call('GET', '/v2/usage?from=yesterday')).status).toBe(400)
    const named = await usageOf(`customers=${one.customerId}`)
    expect(named).toMatchObject([{ customer_id: one.customerId, customer_name: expect.any(String), messages: 15 }])
  })
})
