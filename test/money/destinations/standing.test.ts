/** Whether a destination may be paid, in each state and under each setting. */
import { expect, it } from 'vitest'
import { closedBecause, type Registration } from '../../../src/money/destinations/standing.ts'

const PLACE = {
  crypto: { network: 'ETHEREUM' as const, address: '0x52908400098527886E0F7030069857D2E4169EE7', memo: 'm' },
}
const MAGIC = { fiat: { fiat_account_id: 'sandbox-refused' } }
const USABLE = {
  id: 'd',
  network: 'ETHEREUM',
  memos: ['m'],
  status: 'ACTIVE',
  usableAt: 'noon',
  isUsable: true,
} as const
const NO = 'destination_not_registered'

it.each<[string, Partial<Registration> | undefined, string | undefined, string | undefined]>([
  ['was never registered', undefined, NO, undefined],
  ['is usable', {}, undefined, undefined],
  ['was deleted', { status: 'DELETED' }, NO, NO],
  ['was rejected', { status: 'REJECTED' }, NO, NO],
  ['is being changed', { status: 'LOCKED' }, NO, NO],
  ['waits for approval', { status: 'PENDING' }, NO, undefined],
  ['has another memo', { memos: [''] }, NO, undefined],
  ['is cooling', { isUsable: false }, 'destination_cooling', undefined],
])('a destination that %s is paid only where the settings allow it', (_what, changes, required, optional) => {
  const registration = changes === undefined ? undefined : { ...USABLE, ...changes }
  const codes = [true, false].map((isRequired) =>
    [true, false].map((isSandbox) => closedBecause(PLACE, registration, { isRequired, isSandbox })?.code),
  )
  expect(codes).toEqual([
    [required, required],
    [optional, optional],
  ])
})

it('a destination of the sandbox is registered there alone', () => {
  const codes = [true, false].map((isSandbox) => closedBecause(MAGIC, undefined, { isRequired: true, isSandbox })?.code)
  expect(codes).toEqual([undefined, NO])
})

it('a cooling destination names the time from which it is usable', () => {
  const policy = { isRequired: true, isSandbox: false }
  expect(closedBecause(PLACE, { ...USABLE, isUsable: false }, policy)).toMatchObject({ usableAt: 'noon' })
})
