/** Batches of reports of which the store takes some, or none. */
import { afterEach, expect, it } from 'vitest'
import { sql } from '../../../src/platform/store/sql.ts'
import { newAddress, newProfile, reportOf, useDepositsNode } from './deposits-node.ts'

const stand = useDepositsNode()

/** Makes the store fail for deposits in an asset, as where their page is damaged. */
async function damageDeposits(asset: string): Promise<void> {
  await sql
    .raw(`
      create or replace function damage_deposits() returns trigger language plpgsql as $$ begin
        if new.asset = '${asset}' then raise exception 'invalid page in block 3' using errcode = 'XX001'; end if;
        return new;
      end $$;
      create or replace trigger damaged before insert on deposits for each row execute function damage_deposits()`)
    .execute(stand.node.db.tables())
}

afterEach(() => sql.raw('drop trigger if exists damaged on deposits').execute(stand.node.db.tables()))

async function post(assets: readonly string[]) {
  const address = await newAddress(stand, await newProfile(stand))
  const deposits = assets.map((asset) => reportOf(address, { asset }))
  return { deposits, send: () => stand.node.operator('POST', '/deposits', { deposits }) }
}

it('a batch that the store did not accept at all is answered 503, as one report is, and can be sent again', async () => {
  await damageDeposits('USDC')
  const { deposits, send } = await post(['USDC', 'USDC'])
  for (const answer of [await send(), await stand.node.operator('POST', '/deposits', deposits[0])]) {
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('1')
  }
  expect(stand.node.db.corruption).toContain('invalid page in block 3')
  await sql.raw('drop trigger damaged on deposits').execute(stand.node.db.tables())
  expect(await send()).toMatchObject({
    status: 200,
    body: { failed: 0, results: [{ status: 'created' }, { status: 'created' }] },
  })
})

it('a batch of which some items fail is answered with their number, and the others are stored', async () => {
  await damageDeposits('USDC')
  const { deposits } = await post(['USDC', 'ETH'])
  const answer = await stand.node.operator('POST', '/deposits', { deposits: [...deposits, { nonsense: true }] })
  expect(answer).toMatchObject({
    status: 200,
    body: {
      failed: 2,
      results: [{ problem: { code: 'unavailable' } }, { status: 'created' }, { problem: { code: 'invalid_request' } }],
    },
  })
})

it('a batch whose items are all wrong is answered with their problems', async () => {
  const answer = await stand.node.operator('POST', '/deposits', { deposits: [{ nonsense: true }] })
  expect(answer).toMatchObject({
    status: 200,
    body: { failed: 1, results: [{ problem: { code: 'invalid_request' } }] },
  })
})
