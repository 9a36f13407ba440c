/** Prices in the store: what conversions take of a book and of the desk, from several workers at once. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post } from '../../../../src/money/ledger/ledger.ts'
import type { PricingContext, PricingSettings } from '../../../../src/money/orchestrations/pricing/context.ts'
import { readDesk } from '../../../../src/money/orchestrations/pricing/desk.ts'
import type { MarketEvidence } from '../../../../src/money/orchestrations/pricing/evidence.ts'
import type { Conversion, PriceOutcome, PriceRequest } from '../../../../src/money/orchestrations/pricing/outcome.ts'
import { priceConversions, recordConversions } from '../../../../src/money/orchestrations/pricing/price.ts'
import { readPrice } from '../../../../src/money/orchestrations/pricing/stored-price.ts'
import { newId } from '../../../../src/platform/base/ids.ts'
import type { Db } from '../../../../src/platform/store/db.ts'
import { transactionWithRetries } from '../../../../src/platform/store/retry.ts'
import { sql } from '../../../../src/platform/store/sql.ts'
import { captureLog } from '../../../support/captured-log.ts'
import { addAssets, addOwner, credit, type Owner } from '../../../support/ledger.ts'
import { openTwoTestStores } from '../../../support/test-store.ts'
import { baseUnits, book, context, levels, pegBook, SETTINGS } from './books.ts'

let db: Db
/** The two workers: two handles on PostgreSQL, one and the same on the embedded store. */
let workers: readonly [Db, Db]
let owner: Owner
beforeAll(async () => {
  workers = await openTwoTestStores({ log: captureLog().log })
  db = workers[0]
  await addAssets(db, { BTC: 8, USD: 2, USDC: 6, ETH: 18 })
  owner = await addOwner(db)
})
afterAll(() => Promise.all([...new Set(workers)].map((worker) => worker.close())))

beforeEach(() => sql`delete from conversions`.execute(db.tables()))

/** A minute, so that no slow machine gives back what was taken. */
const PATIENT: PricingSettings = { ...SETTINGS, depthSeconds: 60 }

function sale(sourceAmount: bigint): PriceRequest {
  return { orchestrationId: newId(), sourceAsset: 'BTC', sourceAmount, destinationAsset: 'USD' }
}

function atPar(sourceAmount: bigint): PriceRequest {
  return { orchestrationId: newId(), sourceAsset: 'USDC', sourceAmount, destinationAsset: 'USD' }
}

/** What the step of the runner does with prices: posts and records them, in one transaction. */
function convert(
  worker: Db,
  requests: readonly PriceRequest[],
  from: PricingContext,
): Promise<readonly PriceOutcome[]> {
  return transactionWithRetries(worker, async (transaction) => {
    const outcomes = await priceConversions(transaction, requests, from)
    const conversions = pricedOf(outcomes)
    await post(
      transaction,
      conversions.flatMap(({ orchestrationId: groupId, ...each }) => [
        {
          asset: each.sourceAsset,
          amount: each.sourceAmount,
          debit: { bucket: 'in_transit' as const, profileId: owner.profileId },
          credit: { bucket: 'desk' as const },
          groupId,
        },
        {
          asset: each.destinationAsset,
          amount: each.destinationAmount,
          debit: { bucket: 'desk' as const },
          credit: { bucket: 'available' as const, profileId: owner.profileId },
          groupId,
        },
      ]),
    )
    await recordConversions(
      transaction,
      conversions.map((conversion) => ({ conversion })),
    )
    return outcomes
  })
}

function pricedOf(outcomes: readonly PriceOutcome[]): readonly Conversion[] {
  return outcomes.flatMap((outcome) => (outcome.kind === 'priced' ? [outcome.conversion] : []))
}

function evidenceOf({ evidence }: Conversion): MarketEvidence {
  if (evidence.kind !== 'market') throw new Error('it is at par')
  return evidence
}

describe('the depth of a book', () => {
  const bids = levels([6_000_000, '1'], [5_999_900, '1'], [5_999_800, '0.75'], [5_999_700, '20'])
  const from = context({ BTCUSD: book({ bids }) }, { settings: PATIENT })

  it("a book's depth is sold once, to 20 conversions of 0.5 by two workers at the same time", async () => {
    await credit(db, owner.profileId, 'BTC', 1_000_000_000n, 'in_transit')
    const batches = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        // Batches of one and of four: 20 in all.
        const requests = Array.from({ length: index % 2 === 0 ? 1 : 4 }, () => sale(50_000_000n))
        return convert(workers[index % 2] as Db, requests, from)
      }),
    )
    const conversions = pricedOf(batches.flat())
    expect(conversions).toHaveLength(20)
    const sold = new Map<string, bigint>()
    for (const { price, taken } of conversions.flatMap((conversion) => evidenceOf(conversion).levels)) {
      sold.set(price, (sold.get(price) ?? 0n) + baseUnits(taken))
    }
    expect(Object.fromEntries(sold)).toEqual({
      '60000.00': baseUnits('1'),
      '59999.00': baseUnits('1'),
      '59998.00': baseUnits('0.75'),
      '59997.00': baseUnits('7.25'),
    })
    // Exactly two had the best price alone.
    expect(conversions.filter(({ price }) => price === '60000')).toHaveLength(2)
    for (const { orchestrationId } of conversions) {
      expect((await readPrice(db.tables(), orchestrationId)).explanation).toMatchObject({ adds_up: true })
    }
  })

  it("a book's depth is available again after depth_seconds, and never gone for the other side", async () => {
    await credit(db, owner.profileId, 'BTC', 300_000_000n, 'in_transit')
    await credit(db, owner.profileId, 'USD', 6_000_100n, 'in_transit')
    const [first] = pricedOf(await convert(db, [sale(100_000_000n)], from))
    expect(first?.price).toBe('60000')
    const [second] = pricedOf(await convert(db, [sale(100_000_000n)], from))
    expect(second?.price).toBe('59999')
    const purchase = { ...sale(6_000_100n), sourceAsset: 'USD', destinationAsset: 'BTC' }
    expect(pricedOf(await convert(db, [purchase], from))).toMatchObject([{ destinationAmount: 100_000_000n }])
    await sql`update conversions set created_at = created_at - interval '61 seconds'`.execute(db.tables())
    const [third] = pricedOf(await convert(db, [sale(100_000_000n)], from))
    expect(third?.price).toBe('60000')
  })

  it("a book's depth is left alone by waiting conversions, which wait with SLIPPAGE where it is not enough", async () => {
    const [outcome] = await convert(db, [sale(10_000_000_000n)], from)
    expect(outcome).toMatchObject({ kind: 'waits', waitingFor: 'SLIPPAGE' })
    const { rows } = await sql`select from conversions`.execute(db.tables())
    expect(rows).toEqual([])
  })
})

describe('a book that must not be used', () => {
  it.each<[string, Parameters<typeof book>[0]]>([
    ['not live', { isLive: false }],
    ['stale', { ageMilliseconds: 5_001 }],
    ['simulated', { isSimulated: true }],
    ['crossed', { bids: levels([6_000_200, '1']) }],
    ['empty', { bids: [], asks: [] }],
    ['one-sided', { asks: [] }],
  ])('and is %s: market conversions wait with PRICE, those at par with PEG', async (_, changes) => {
    const from = context({ BTCUSD: book(changes), USDCUSD: { ...pegBook(10_000), ...changes } })
    expect(await convert(db, [sale(1_000_000n), atPar(1_000_000n)], from)).toMatchObject([
      { kind: 'waits', waitingFor: 'PRICE' },
      { kind: 'waits', waitingFor: 'PEG' },
    ])
  })

  it('a book that must not be used is handled as a missing one', async () => {
    expect(await convert(db, [sale(1_000_000n), atPar(1_000_000n)], context({}))).toMatchObject([
      { kind: 'waits', waitingFor: 'PRICE' },
      { kind: 'waits', waitingFor: 'PEG' },
    ])
  })

  it('a simulated book may be used in a sandbox', async () => {
    await credit(db, owner.profileId, 'BTC', 1_000_000n, 'in_transit')
    const from = context({ BTCUSD: book({ isSimulated: true }) }, { isSandbox: true })
    expect(await convert(db, [sale(1_000_000n)], from)).toMatchObject([{ kind: 'priced' }])
  })
})

describe('at par', () => {
  it('a conversion at par waits with PEG at 0.97, and continues at 0.999 with the amount the destination can represent', async () => {
    await credit(db, owner.profileId, 'USDC', 1_239_999n, 'in_transit')
    const request = atPar(1_239_999n)
    expect(await convert(db, [request], context({ USDCUSD: pegBook(9_700) }))).toMatchObject([
      { kind: 'waits', waitingFor: 'PEG', detail: 'USDCUSD is more than 50 bps away from 1' },
    ])
    const outcomes = await convert(db, [request], context({ USDCUSD: pegBook(9_990) }))
    expect(pricedOf(outcomes)).toMatchObject([
      { sourceAmount: 1_230_000n, remainder: 9_999n, destinationAmount: 123n, price: '1', priceSource: 'par' },
    ])
    const { explanation, evidence, ...document } = await readPrice(db.tables(), request.orchestrationId)
    expect(document).toMatchObject({ source_amount: '1.23', destination_amount: '1.23', source_asset: 'USDC' })
    expect(evidence).toMatchObject({ kind: 'par', pegs: [{ book: { mid: '0.99900' } }] })
    expect(explanation.adds_up).toBe(true)
  })

  it('a conversion at par needs no market of the pair', async () => {
    await credit(db, owner.profileId, 'USDC', 1_000_000n, 'in_transit')
    expect(await convert(db, [atPar(1_000_000n)], context({}, { markets: [] }))).toMatchObject([{ kind: 'priced' }])
  })
})

it('a conversion is impossible for pairs that nothing converts, and never for the others of the batch', async () => {
  await credit(db, owner.profileId, 'USDC', 1_000_000n, 'in_transit')
  const requests = [
    { ...atPar(1n), destinationAsset: 'BTC' },
    { ...atPar(1n), destinationAsset: 'XXX' },
    atPar(9_999n),
    atPar(1_000_000n),
  ]
  expect(await convert(db, requests, context({ USDCUSD: pegBook(10_000) }))).toMatchObject([
    { kind: 'impossible', code: 'NOT_CONVERTIBLE' },
    { kind: 'impossible', code: 'NOT_CONVERTIBLE' },
    { kind: 'impossible', code: 'NOT_CONVERTIBLE' },
    { kind: 'priced' },
  ])
})

describe('the limit of the desk', () => {
  /** A context in which the desk may pay 1,000 USD more than it has paid. */
  async function limited(): Promise<PricingContext> {
    const { rows } = await sql<{ position: string }>`
      select coalesce(sum(case when credit_bucket = 'desk' then amount else -amount end), 0) as position
      from postings where asset = 'USD' and 'desk' in (credit_bucket, debit_bucket)
    `.execute(db.tables())
    const deskLimits = new Map([['USD', 100_000n - BigInt((rows[0] as { position: string }).position)]])
    return context({ USDCUSD: pegBook(10_000) }, { settings: { ...PATIENT, deskLimits } })
  }

  it('the desk limit lets three of five conversions of 300 pass, by two workers at the same time', async () => {
    await credit(db, owner.profileId, 'USDC', 1_500_000_000n, 'in_transit')
    const from = await limited()
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, (_, index) => convert(workers[index % 2] as Db, [atPar(300_000_000n)], from)),
    )
    const kinds = outcomes.flat().map((outcome) => (outcome.kind === 'waits' ? outcome.waitingFor : outcome.kind))
    expect(kinds.sort()).toEqual(['DESK_LIMIT', 'DESK_LIMIT', 'priced', 'priced', 'priced'])
  })

  it('the desk limit lets three of five conversions pass in one batch, and a smaller one behind them', async () => {
    await credit(db, owner.profileId, 'USDC', 1_000_000_000n, 'in_transit')
    const requests = [300n, 300n, 300n, 300n, 100n, 1n].map((dollars) => atPar(dollars * 1_000_000n))
    const outcomes = await convert(db, requests, await limited())
    expect(outcomes.map(({ kind }) => kind)).toEqual(['priced', 'priced', 'priced', 'waits', 'priced', 'waits'])
    expect(outcomes[3]).toMatchObject({ waitingFor: 'DESK_LIMIT' })
  })
})

describe('what the operator sees of the desk', () => {
  it("the operator sees the desk's position in every asset, with its parts", async () => {
    await credit(db, owner.profileId, 'ETH', 3n * 10n ** 18n, 'in_transit')
    await sql`
      insert into postings (group_id, asset, amount, debit_bucket, credit_bucket, effective_at, created_at)
      values (gen_random_uuid(), 'ETH', 1500000000000000000, 'desk', 'external', now(), now())
    `.execute(db.tables())
    const items = await readDesk(db.tables(), new Map([['ETH', 2n * 10n ** 18n]]))
    expect(items.map(({ asset }) => asset)).toEqual(['BTC', 'ETH', 'USD', 'USDC'])
    expect(items[1]).toEqual({
      asset: 'ETH',
      position: '-1.5',
      limit: '2',
      committed: '0',
      in_transit: '3',
      receivable: '0',
      hedge: { side: 'BUY', amount: '1.5' },
    })
    expect(items[0]?.hedge?.side).toBe('SELL')
  })
})
