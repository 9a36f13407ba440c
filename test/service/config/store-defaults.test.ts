/** Defaults that a store keeps: which of them apply, and how they reach every process that opens the store. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../src/platform/base/ids.ts'
import { createLog } from '../../../src/platform/base/log.ts'
import type { Db } from '../../../src/platform/store/db.ts'
import { migrate } from '../../../src/platform/store/migrate.ts'
import { MIGRATIONS } from '../../../src/platform/store/migrations/index.ts'
import { sql } from '../../../src/platform/store/sql.ts'
import { loadConfig } from '../../../src/service/config/load.ts'
import { DEMO_DEFAULTS } from '../../../src/service/config/markets.ts'
import {
  earlierKeys,
  newStoreDefaults,
  type StoreDefault,
  withStoreDefaults,
} from '../../../src/service/config/store-defaults.ts'
import { keepStoreDefaults, readStoreDefaults } from '../../../src/service/process/setting-defaults.ts'
import { openTestStore } from '../../support/test-store.ts'

const KEY = 'accounts.approval'
const EARLIER: readonly StoreDefault[] = [{ key: KEY, value: 'auto', isEarlier: true }]

function read(flags: Record<string, string>, verbDefaults = {}) {
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '', verbDefaults })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

function valueIn(defaults: readonly StoreDefault[]): unknown {
  return defaults.find(({ key }) => key === KEY)?.value
}

describe("a store's default", () => {
  it("a store's default replaces the default of the verb, and says where it is from", () => {
    const { config, origins } = withStoreDefaults(read({}), EARLIER)
    expect([config[KEY], origins[KEY]]).toEqual(['auto', 'default of this store'])
    const demo = read({}, DEMO_DEFAULTS)
    expect(withStoreDefaults(demo, newStoreDefaults(false)).config[KEY]).toBe('required')
  })

  it("a store's default gives way to an explicit value, and is applied again after a reload without it", () => {
    const explicit = read({ [KEY]: 'required' })
    expect(withStoreDefaults(explicit, EARLIER)).toEqual(explicit)
    const again = withStoreDefaults(withStoreDefaults(read({}), EARLIER), EARLIER)
    expect(again.config[KEY]).toBe('auto')
  })

  it("a store's default of a later version changes nothing", () => {
    const result = read({})
    expect(withStoreDefaults(result, [{ key: 'accounts.unheard_of', value: 1, isEarlier: false }])).toEqual(result)
  })

  it("a store's default is reported while it is that of an earlier release and no value is set", () => {
    expect(earlierKeys(read({}).origins, EARLIER)).toEqual([KEY])
    expect(earlierKeys(withStoreDefaults(read({}), EARLIER).origins, EARLIER)).toEqual([KEY])
    expect(earlierKeys(read({ [KEY]: 'auto' }).origins, EARLIER)).toEqual([])
    expect(earlierKeys(read({}).origins, newStoreDefaults(false))).toEqual([])
  })
})

describe('a new store', () => {
  let db: Db
  beforeAll(async () => {
    db = await openTestStore({ log: createLog('silent') })
  })
  afterAll(() => db?.close())

  it('a new store keeps the defaults of the verb that started it first, of several at once too', async () => {
    const verbs = [true, false, true, false].map((isDemo) => keepStoreDefaults(db, newStoreDefaults(isDemo)))
    const kept = new Set((await Promise.all(verbs)).map(valueIn))
    expect(kept.size).toBe(1)
    const [first] = kept
    for (const isDemo of [true, false]) {
      expect(valueIn(await keepStoreDefaults(db, newStoreDefaults(isDemo)))).toBe(first)
    }
  })
})

describe('a store in use before the setting existed', () => {
  let db: Db
  beforeAll(async () => {
    db = await openTestStore({ log: createLog('silent'), isMigrated: false })
  })
  afterAll(() => db?.close())

  it('a store in use before the setting existed keeps its behaviour in serve', async () => {
    const log = createLog('silent')
    const isEarlier = ({ name }: (typeof MIGRATIONS)[number]) => name < '202611281630'
    await migrate(db, log, MIGRATIONS.filter(isEarlier))
    await sql`insert into customers (id, name, streaming) values (${newId()}, 'Northwind', false)`.execute(db.tables())
    await migrate(db, log)
    const defaults = await keepStoreDefaults(db, newStoreDefaults(false))
    expect(valueIn(defaults)).toBe('auto')
    expect(earlierKeys(read({}).origins, defaults)).toContain(KEY)
    expect(await readStoreDefaults(db)).toEqual(defaults)
  })
})
