import { expect, it } from 'vitest'
import { loadConfig } from '../../../src/service/config/load.ts'
import { describeProblem } from '../../../src/service/config/problem-list.ts'
import { withStoreDefaults } from '../../../src/service/config/store-defaults.ts'
import { unnoticedDestinations } from '../../../src/service/config/unapproved-destinations.ts'
import { examineNotices } from '../../../src/service/doctor/defaults.ts'

const UNAPPROVED = { 'destinations.required': 'true', 'destinations.approval': 'auto' }
const SECRETS = { 'notices.secrets': `whsec_${Buffer.alloc(24, 1).toString('base64')}` }

function read(flags: Record<string, string>) {
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '', verbDefaults: {} })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result
}

it('required destinations without an approval need a mail server or an address for notices', () => {
  const { config, origins } = read(UNAPPROVED)
  expect(unnoticedDestinations(config, origins).map(describeProblem)).toEqual([
    expect.stringMatching(/^destinations\.approval must be required unless notices\.smtp_url or notices\.url is set/),
  ])
  expect(examineNotices(config, origins)).toMatchObject([{ verdict: 'bad', key: 'destinations.approval' }])
})

it.each([
  ['a mail server', { ...UNAPPROVED, 'notices.smtp_url': 'smtps://mail.acme.example' }],
  ['an address for notices', { ...UNAPPROVED, 'notices.url': 'https://acme.example/notices', ...SECRETS }],
  ['an approval', { ...UNAPPROVED, 'destinations.approval': 'required' }],
  ['destinations that are not required', { ...UNAPPROVED, 'destinations.required': 'false' }],
])('destinations with %s may be used', (_what, flags) => {
  const { config, origins } = read(flags)
  expect(unnoticedDestinations(config, origins)).toEqual([])
})

it('the rule about notices is checked with the defaults of the store, and only a warning without them', () => {
  const result = read({ 'destinations.required': 'true' })
  const kept = [{ key: 'destinations.approval', value: 'auto', isEarlier: true }]
  const unsafe = { ...result, config: { ...result.config, 'destinations.approval': 'auto' as const } }
  expect(examineNotices(unsafe.config, unsafe.origins)).toMatchObject([{ verdict: 'warn' }])
  const stored = withStoreDefaults(result, kept)
  expect(unnoticedDestinations(stored.config, stored.origins)).toHaveLength(1)
  expect(unnoticedDestinations(result.config, result.origins)).toEqual([])
})

it.each([
  ['http://mail.acme.example', false],
  ['smtp://', false],
  ['smtp://mail.acme.example/path', false],
  ['smtp://mail.acme.example?pool=true', false],
  ['smtp://user:100%@mail.acme.example', false],
  ['smtps://alerts%40acme.example:p%3Ass@mail.acme.example', true],
  ['smtp://127.0.0.1:2525', true],
])('the mail server %s is accepted: %s, and never quoted', (value, isAccepted) => {
  const flags = { 'notices.smtp_url': value }
  const result = loadConfig({ flags, environment: {}, file: undefined, readFile: () => '', verbDefaults: {} })
  expect(result.ok).toBe(isAccepted)
  if (!result.ok) expect(JSON.stringify(result.problems)).not.toContain('acme')
})
