/** Metered usage in the store: writes that fail, lost processes, the sums by day, and who reads which usage. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Meter } from '../../../src/access/metering/meter.ts'
import { readUsage } from '../../../src/access/metering/usage.ts'
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

/** No hour ends while a test runs. */
const PRESENT = Math.floor(Date.now() / HOUR) * HOUR + HOUR / 2

/** The present, as far ahead as a test sets it. */
function shiftedClock(shift: { milliseconds: number }) {
  const clock = createSystemClock()
  const wallInstant = () => ({ ...clock.wallInstant(), milliseconds: PRESENT + shift.milliseconds })
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
const since = (milliseconds: number) => new Date(PRESENT + milliseconds).toISOString()
const hourOf = (milliseconds: number) => since(milliseconds).replace(/:.*/, ':00:00Z')

describe('written usage', () => {
  it('usage is counted once and in its hour, though writes fail and the clock steps in both directions', async () => {
    const customer = await node.newCustomer()
    const random = new Random(7)
    const shift = { milliseconds: 0 }
    const meter = new Meter(createSystemClock())
    const writer = writerWith({ meter, shift, db: failingStore(random) })
    const expected = new Map<string, { hour: string; messages: number; bytes: number }>()
    for (let step = 0; step < 80; step++) {
      const hour = hourOf(shift.milliseconds)
      const sums = expected.get(hour) ?? { hour, messages: 0, bytes: 0 }
      const bytes = random.integer(1_000)
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(2, bytes)
      expected.set(hour, { hour, messages: sums.messages + 2, bytes: sums.bytes + bytes })
      // The step acts from the next write on.
      if (random.chance(0.2)) shift.milliseconds += HOUR * (random.chance(0.6) ? 1 : -1)
      await writer.write()
    }
    for (let attempt = 0; attempt < 100 && !(await writer.write()); attempt++);
    const query = `customers=${customer.customerId}&group_by=hour&from=${since(-40 * HOUR)}&to=${since(40 * HOUR)}`
    const inOrder = [...expected.values()].sort((one, other) => (one.hour < other.hour ? -1 : 1))
    expect(await usageOf(query)).toMatchObject(inOrder)
    expect(inOrder.length).toBeGreaterThan(3)
  })

  it('usage during an outage of twenty minutes is written whole, also of clients and customers that are gone', async () => {
    const customerId = newId()
    const meter = new Meter(createSystemClock())
    const shift = { milliseconds: 0 }
    const store = { isLost: true }
    const lost = () => {
      throw new StoreUnavailable('lost')
    }
    const db: Db = {
      ...node.db,
      tables: () => (store.isLost ? lost() : node.db.tables()),
      transaction: ((...call: Parameters<Db['transaction']>) => node.db.transaction(...call)) as Db['transaction'],
    }
    const writer = writerWith({ meter, shift, db })
    for (let client = 0; client < 24; client++) {
      const holder = { customerId, clientId: `client ${client}` }
      meter.countConnection(holder, 1)
      meter.of(holder).of('BTCUSD', 'market_data').count(1, 100)
      expect(await writer.write()).toBe(false)
      meter.of(holder).of('BTCUSD', 'market_data').count(1, 50)
      meter.countConnection(holder, -1)
      shift.milliseconds += 50_000
    }
    store.isLost = false
    expect(await writer.write()).toBe(true)
    const [sum, ...others] = await usageOf(
      `customers=${customerId}&group_by=market&markets=BTCUSD&to=${since(HOUR)}&from=${since(-HOUR)}`,
    )
    expect(sum).toMatchObject({ market: 'BTCUSD', messages: 48, bytes: 3_600 })
    expect(others).toEqual([])
  })

  it('a process killed in the middle of a write loses no earlier usage, and its hours are marked', async () => {
    const customerId = newId()
    const holders = Array.from({ length: 1_200 }, (_, client) => ({ customerId, clientId: `client ${client}` }))
    const count = (meter: Meter, bytes: number) => {
      for (const holder of holders) meter.of(holder).of('BTCUSD', 'market_data').count(1, bytes)
    }
    const meter = new Meter(createSystemClock())
    const store = { statementsLeft: Number.POSITIVE_INFINITY }
    const tables = () => {
      if (--store.statementsLeft < 0) throw new StoreUnavailable('killed')
      return node.db.tables()
    }
    const name = newId()
    const killed = writerWith({ meter, db: { ...node.db, tables } as Db, node: name })
    count(meter, 10)
    expect(await killed.write()).toBe(true)
    count(meter, 7)
    store.statementsLeft = 2
    expect(await killed.write()).toBe(false)
    const query = `customers=${customerId}&from=${since(-HOUR)}&to=${since(HOUR)}`
    await writerWith({ meter: new Meter(createSystemClock()), node: name }).write()
    // Two statements of 500 rows were carried out.
    expect(await usageOf(query)).toMatchObject([{ messages: 2_200, bytes: 1_200 * 10 + 1_000 * 7, incomplete: true }])
  })

  it('usage that a gateway process did not report is marked, also when the clock stepped back since', async () => {
    const customer = await node.newCustomer()
    // Of its own time, in which no other test loses usage.
    const shift = { milliseconds: -80 * DAY }
    const meter = new Meter(createSystemClock())
    const writer = writerWith({ meter, shift })
    for (let hour = 0; hour < 4; hour++) {
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(1, 10)
      shift.milliseconds += HOUR
      await writer.write()
    }
    const reportedMilliseconds = PRESENT + shift.milliseconds - HOUR
    shift.milliseconds -= 2 * HOUR
    writer.noteGap(reportedMilliseconds)
    await writer.write()
    const query = `customers=${customer.customerId}&group_by=hour&from=${since(-81 * DAY)}&to=${since(-79 * DAY)}`
    const marks = (await usageOf(query)).map(({ incomplete }: { incomplete: boolean }) => incomplete)
    expect(marks).toEqual([false, false, true, true])
  })

  it('two processes under one node name both count, and neither is lost while it writes', async () => {
    const customer = await node.newCustomer()
    const name = newId()
    // Of its own time, in which no other test loses usage.
    const shift = { milliseconds: -60 * DAY }
    const meters = [new Meter(createSystemClock()), new Meter(createSystemClock())]
    const writers = meters.map((meter) => writerWith({ meter, shift, node: name }))
    const query = `customers=${customer.customerId}&from=${since(shift.milliseconds - HOUR)}&to=${since(shift.milliseconds + HOUR)}`
    for (let round = 0; round < 3; round++) {
      for (const meter of meters) meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(1, 10)
      for (const writer of writers) await writer.write()
    }
    for (const writer of writers) await writer.write()
    expect(await usageOf(query)).toMatchObject([{ messages: 6, bytes: 60, incomplete: false }])
    await sql`
      update usage_runs set written_at = written_at - interval '3 minutes'
      where id in (select id from usage_runs where node = ${name} order by id limit 1)
    `.execute(node.db.tables())
    expect(await usageOf(query)).toMatchObject([{ incomplete: true }])
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
    const writeAndEnd = async (meter: Meter, shift: { milliseconds: number }) => {
      const writer = writerWith({ meter, shift })
      await writer.start()
      await writer.stop()
    }
    for (let day = 10; day < 25; day++) {
      const shift = { milliseconds: -day * DAY }
      const meter = new Meter(createSystemClock())
      for (const market of ['BTCUSD', 'ETHUSD'])
        meter.of(holderOf(customer)).of(market, 'market_data').count(3, random.integer(9_999))
      await writeAndEnd(meter, shift)
      shift.milliseconds += HOUR
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(1, random.integer(9_999))
      await writeAndEnd(meter, shift)
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

describe('usage of a process with a wrong clock', () => {
  it('an hour is summed by day only once its process has written the next one', async () => {
    const customer = await node.newCustomer()
    const meter = new Meter(createSystemClock())
    const shift = { milliseconds: -20 * DAY }
    const writer = writerWith({ meter, shift })
    const query = `customers=${customer.customerId}&group_by=day&from=${since(-40 * DAY)}`
    const inHours = async () => {
      const { rows } = await sql<{ readonly count: string }>`
        select count(*) as count from usage_hours where customer_id = ${customer.customerId}
      `.execute(node.db.tables())
      return Number(rows[0]?.count)
    }
    for (let round = 1; round <= 3; round++) {
      meter.of(holderOf(customer)).of('BTCUSD', 'market_data').count(1, 10)
      if (round === 3) shift.milliseconds += HOUR
      await writer.write()
      const upkeep = startUsageUpkeep({
        db: node.db,
        clock: createSystemClock(),
        log: captureLog().log,
        days: () => 400,
      })
      await upkeep.settled()
      await upkeep.stop()
      expect(await usageOf(query)).toMatchObject([{ messages: round, bytes: 10 * round }])
      expect(await inHours()).toBe(round === 3 ? 0 : 1)
    }
  })
})

describe('reading usage', () => {
  it('the pages of a month that ends between two requests are of that month', async () => {
    const customer = await node.newCustomer()
    for (const [hour, market] of [
      ['2026-03-31T10:00:00Z', 'AUSD'],
      ['2026-03-31T11:00:00Z', 'BUSD'],
      ['2026-04-01T00:00:00Z', 'CUSD'],
    ]) {
      await sql`insert into usage_hours values (${customer.customerId}, ${hour}, ${customer.clientId}, ${market},
        'market_data', ${newId()}, 1, 1, 1, 1)`.execute(node.db.tables())
    }
    const page = (to: string, pageCursor?: string) =>
      readUsage(node.db, {
        from: undefined,
        to,
        groups: ['market'],
        customers: [customer.customerId],
        limit: 1,
        pageCursor,
        binding: { operation: 'listUsage', owner: customer.customerId, filters: {}, order: 'ASC' },
        hasNames: false,
      })
    const first = await page('2026-03-31T23:59:59.000Z')
    const second = await page('2026-04-01T00:00:01.000Z', first.next_page_cursor)
    expect([...first.items, ...second.items].map(({ market }) => market)).toEqual(['AUSD', 'BUSD'])
    expect(second.next_page_cursor).toBeUndefined()
  })

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
