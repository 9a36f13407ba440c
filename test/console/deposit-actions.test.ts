/** What the console sends for a decision about a deposit, without a browser. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

// biome-ignore lint/suspicious/noExplicitAny: the test reads members of many components
type Any = any

const DEPOSIT = { id: 'd1', status: 'COMPLETED', amount: '100', asset: 'USDC', profile_id: 'p1' }

let pages: Any
let dialog: Any
let sent: unknown

beforeAll(async () => {
  const place = { pathname: '/console', search: '', hash: '' }
  vi.stubGlobal('window', { location: place, matchMedia: () => ({ matches: false }) })
  vi.stubGlobal('sessionStorage', { getItem: () => null })
  vi.stubGlobal('BroadcastChannel', class {})
  vi.stubGlobal('fetch', async (_: string, { body }: { readonly body: string }) => {
    sent = JSON.parse(body)
    return new Response('{}')
  })
  const load = (path: string) => import(join(import.meta.dirname, '../../packages/console/src', path))
  pages = await load('pages/deposit-actions.tsx')
  dialog = await load('ui/action-dialog.tsx')
  const allows = ['assign', 'correct', 'return'].map((path) => `POST /deposits/:id/${path}`)
  const { sessionState } = await load('base/session.ts')
  sessionState.value = { kind: 'open', session: { allows, four_eyes: [] } }
})

// Other test files run in this process.
afterAll(() => vi.unstubAllGlobals())

/** Confirms an action's dialog with what was typed. */
async function confirm(deposit: object, name: string, typed: object): Promise<unknown> {
  const { props } = pages.DepositActions({ deposit, reload: () => undefined })
  props.children.find((button: Any) => button.props.children === name).props.onClick()
  await dialog.ActionDialog().props.action.run(typed)
  return sent
}

test('a return is sent to the account and memo that the dialog has repeated, without blanks around them', async () => {
  const typed = { fiat_account_id: ' DE89370400440532013000 ', memo: 'invoice 7 ', reason: 'asked' }
  expect(await confirm({ ...DEPOSIT, fiat: { network: 'WIRE' } }, 'Return', typed)).toEqual({
    reason: 'asked',
    fiat: { fiat_account_id: 'DE89370400440532013000', memo: 'invoice 7' },
  })
})

test('a correction sends only the terms that the person has changed, so it takes back no other one', async () => {
  const typed = { amount: '100', asset: 'USDC', profile_id: ' p2 ', run_rules: false, reason: 'another owner' }
  expect(await confirm(DEPOSIT, 'Correct', typed)).toEqual({ profile_id: 'p2', reason: 'another owner' })
})

test('a correction without a changed term sends all of them, which credits a reversed deposit again', async () => {
  const typed = { amount: '100', asset: 'USDC', profile_id: 'p1', run_rules: true, reason: 'reversed by mistake' }
  expect(await confirm({ ...DEPOSIT, secondary_status: 'REVERSED' }, 'Correct', typed)).toEqual({
    amount: '100',
    asset: 'USDC',
    profile_id: 'p1',
    run_rules: true,
    reason: 'reversed by mistake',
  })
})
