/** Faults in who may do what. */
import type { Fault } from './fault.ts'

export const ACCESS_FAULTS: readonly Fault[] = [
  {
    name: 'scope',
    wrong: 'A token with any scope may call every operation.',
    file: 'src/access/clients/guard.ts',
    text: 'if (scope !== undefined && !scopes.includes(scope)) {',
    replacement: 'if (scope !== undefined && scopes.length === 0) {',
    suite: 'test/access/clients/guard.test.ts',
  },
  {
    name: 'tenant',
    wrong: "A customer reads another customer's account.",
    file: 'src/money/accounts/store.ts',
    text: "const visible = customerId === undefined ? query : query.where('customer_id', '=', customerId)",
    replacement: 'const visible = query',
    suite: 'test/money/accounts/routes.test.ts',
    project: 'postgres',
  },
  {
    name: 'revocation',
    wrong: 'A revoked token is accepted.',
    file: 'src/access/clients/token-verifier.ts',
    text: "return directory.isRevoked(token) ? { ok: false, reason: 'it has been revoked' } : { ok: true, token }",
    replacement: 'return { ok: true, token }',
    suite: 'test/access/clients/token-verifier.test.ts',
  },
  {
    name: 'role',
    wrong: 'Every person may make every operator call.',
    file: 'src/contract/operator-calls.ts',
    text: 'machines.includes(role) : includesRole(role, needed)',
    replacement: 'machines.includes(role) : needed !== undefined',
    suite: 'test/access/operators/roles.test.ts',
    project: 'postgres',
  },
  {
    name: 'second-person',
    wrong: 'An operator confirms the own request.',
    file: 'src/access/operators/requesters.ts',
    text: "if (requested_by === name) throw refuse('a second operator must confirm what one has requested')",
    replacement: '',
    suite: 'test/access/operators/four-eyes.test.ts',
    project: 'postgres',
  },
]
