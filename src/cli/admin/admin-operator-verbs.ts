/** The verbs for operators and their API tokens. */
import { ENABLE_OPTIONS, enabledOf } from './admin-access-verbs.ts'
import { type AdminNoun, pick, textOf } from './admin-verb.ts'

export const OPERATOR_NOUNS: readonly AdminNoun[] = [
  {
    name: 'operator',
    description: 'the people who operate the service, and their roles',
    verbs: [
      {
        usage: 'whoami',
        description: 'shows the token’s operator, and the calls its role allows',
        example: 'operator whoami',
        method: 'GET',
        path: '/session',
      },
      {
        usage: 'create <name>',
        description: 'creates an operator, and shows the setup link once (none with a subject)',
        example: 'operator create ada --role reviewer',
        method: 'POST',
        path: '/operators',
        options: [
          {
            flags: '--role <role>',
            description: 'viewer, reviewer, treasurer, admin, deposit_reporter or executor',
            isRequired: true,
          },
          {
            flags: '--subject <id>',
            description: 'signs in as this subject at operator.oidc.issuer, without a password',
          },
        ],
        body: ({ rest: [name], options }) => ({ name, role: options.role, ...pick(options, 'subject') }),
      },
      {
        usage: 'list',
        description: 'lists operators',
        example: 'operator list',
        method: 'GET',
        path: '/operators',
        columns: ['name', 'role', 'enabled', 'kind', 'has_password', 'last_login_at', 'created_at'],
        isPaged: true,
      },
      {
        usage: 'show <name>',
        description: 'shows one operator with the API tokens',
        example: 'operator show ada',
        method: 'GET',
        path: '/operators/:name',
      },
      {
        usage: 'update <name>',
        description: 'changes an operator’s role or subject, or disables one',
        example: 'operator update ada --role treasurer',
        method: 'PATCH',
        path: '/operators/:name',
        options: [
          { flags: '--role <role>', description: 'viewer, reviewer, treasurer or admin' },
          {
            flags: '--subject <id>',
            description: 'signs in as this subject at operator.oidc.issuer, not with a password',
          },
          { flags: '--no-subject', description: 'does not sign in at the issuer any more' },
          ...ENABLE_OPTIONS('no sessions, no tokens'),
        ],
        body: ({ options }) => ({
          ...pick(options, 'role'),
          ...(options.subject === false ? { subject: null } : pick(options, 'subject')),
          ...enabledOf(options),
        }),
      },
      {
        usage: 'reset <name>',
        description: 'removes password, one-time codes and subject, and shows a new setup link once',
        example: 'operator reset ada',
        method: 'POST',
        path: '/operators/:name/reset',
      },
      {
        usage: 'setup-link',
        description: 'creates a new setup link for the first admin, while no admin can sign in',
        example: 'operator setup-link',
        method: 'POST',
        path: '/operators/setup-link',
      },
    ],
  },
  {
    name: 'change-request',
    description: 'changes for a second operator to confirm',
    verbs: [
      {
        usage: 'list',
        description: 'lists requests',
        example: 'change-request list --status PENDING',
        method: 'GET',
        path: '/change-requests',
        options: [
          { flags: '--status <status>', description: 'PENDING, CONFIRMED, DECLINED, FAILED or EXPIRED' },
          { flags: '--subject <id>', description: 'only this record’s' },
        ],
        query: ({ options }) => ({ status: textOf(options.status), subject: textOf(options.subject) }),
        columns: ['id', 'status', 'summary', 'subject', 'requested_by', 'decided_by', 'created_at', 'expires_at'],
        isPaged: true,
      },
      {
        usage: 'show <id>',
        description: 'shows one request with its comment, the record as it was seen, and what has changed since',
        example: 'change-request show REQUEST_ID',
        method: 'GET',
        path: '/change-requests/:id',
      },
      {
        usage: 'confirm <id>',
        description: 'shows another operator’s request, confirms it, and shows the call’s answer',
        example: 'change-request confirm REQUEST_ID --version VERSION',
        method: 'POST',
        path: '/change-requests/:id/confirm',
        options: [
          {
            flags: '--version <version>',
            description: 'the version printed by show. Without it, the record is shown and confirmed as it is now',
          },
        ],
        body: ({ options }) => pick(options, 'version'),
        before: { path: '/change-requests/:id', body: ['version'] },
      },
      {
        usage: 'decline <id>',
        description: 'declines a request, or withdraws an own one',
        example: 'change-request decline REQUEST_ID',
        method: 'POST',
        path: '/change-requests/:id/decline',
      },
    ],
  },
  {
    name: 'operator-token',
    description: 'operators’ API tokens, for scripts',
    verbs: [
      {
        usage: 'create <operator> <name>',
        description: 'creates an API token and shows it once',
        example: 'operator-token create ada nightly-report --role viewer',
        method: 'POST',
        path: '/operators/:name/tokens',
        options: [
          { flags: '--role <role>', description: 'at most the operator’s own role, which is the default' },
          { flags: '--source <names...>', description: 'for a deposit_reporter: the only sources it may report' },
          { flags: '--asset <symbols...>', description: 'for a machine: the only assets it may deal with' },
        ],
        body: ({ rest: [name], options: { source, asset, ...options } }) => ({
          name,
          ...pick(options, 'role'),
          ...(source === undefined ? {} : { sources: source }),
          ...(asset === undefined ? {} : { assets: asset }),
        }),
      },
      {
        usage: 'revoke <operator> <token-id>',
        description: 'revokes an API token',
        example: 'operator-token revoke ada TOKEN_ID',
        method: 'DELETE',
        path: '/operators/:name/tokens/:id',
      },
    ],
  },
]
