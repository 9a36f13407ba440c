/** The scopes of a new client, when the person who creates it chooses none. */
import { expect, it } from 'vitest'
import { NEW_CLIENT_SCOPES } from '../../../packages/console/src/pages/scopes.ts'
import { ADMIN_NOUNS } from '../../../src/cli/admin/admin-verbs.ts'
import { isScope } from '../../../src/contract/scopes.ts'

const REGISTERS = ['transfer:write_crypto_destination_address', 'transfer:write_fiat_account']
const MOVES = ['orchestration:write_orchestration', 'orchestration:write_orchestration_rule']

it('the console chooses no scopes for a new client that join registering destinations and moving money', () => {
  expect(NEW_CLIENT_SCOPES.filter((scope) => !isScope(scope))).toEqual([])
  const joins = (group: readonly string[]) => group.some((scope) => NEW_CLIENT_SCOPES.includes(scope))
  expect([joins(REGISTERS), joins(MOVES)]).not.toEqual([true, true])
})

it('the command line gives a new client only the scopes that are named', () => {
  const create = ADMIN_NOUNS.find(({ name }) => name === 'client')?.verbs.find(({ createsClient }) => createsClient)
  expect(create?.options?.find(({ flags }) => flags.startsWith('--scope'))).toMatchObject({ isRequired: true })
  const given = { rest: ['feed'], options: { scope: ['transfer:read_transfer'] } }
  expect(create?.body?.(given as never)).toMatchObject({ scopes: ['transfer:read_transfer'] })
})
