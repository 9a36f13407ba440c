/** The console's users, their roles and API tokens. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet, useList } from '../base/resource.ts'
import { navigate } from '../base/router.ts'
import { can, session } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Empty, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'
import { showSecret } from './client-actions.tsx'

export const ROLE_OPTIONS = [
  ['viewer', 'viewer: sees everything, changes nothing'],
  ['reviewer', 'reviewer: decides about accounts and rules'],
  ['treasurer', 'treasurer: deposits, deliveries, pause'],
  ['admin', 'admin: everything, also customers and operators'],
] as const

/** Roles for machines, which never sign in. No other person confirms their reports. */
export const MACHINE_OPTIONS = [
  ['deposit_reporter', 'deposit_reporter: a machine that reports deposits and reads them'],
  ['executor', 'executor: a machine that claims payments, pays them and reports the results'],
] as const

export function isMachine(role: string): boolean {
  return MACHINE_OPTIONS.some(([machine]) => machine === role)
}

export const SUBJECT_FIELD = {
  name: 'subject',
  label: 'Subject at the issuer',
  hint: 'the id shown to the person on the login page, not a name or an address',
} as const

export function OperatorsPage() {
  const list = useList('/operators', {})
  const login = useGet('/login')
  const offersIssuer = login.document?.openid !== undefined
  const create = () =>
    ask({
      title: 'New operator',
      consequence: (
        <p>
          You get a link that works once, within 24 hours. With it, the person chooses a password and an authenticator.{' '}
          {offersIssuer && 'With a subject there is no link: the person logs in at the issuer. '}A machine gets API
          tokens, and no link.
        </p>
      ),
      confirm: 'Create',
      fields: [
        {
          name: 'name',
          label: 'Name',
          hint: 'lower-case letters, digits, and . _ @ - (the audit names the person by it)',
        },
        { name: 'role', label: 'Role', kind: 'select', options: [...ROLE_OPTIONS, ...MACHINE_OPTIONS] },
        ...(offersIssuer ? [{ ...SUBJECT_FIELD, isOptional: true }] : []),
      ],
      fourEyes: 'operators',
      run: ({ name, role, subject }) =>
        call('POST', '/operators', { name: String(name).trim(), role, ...(subject ? { subject } : {}) }),
      done: ({ name, setup_link }) => {
        showSetupLink(name, setup_link)
        navigate(`/operators/${name}`)
        return undefined
      },
      requested: ({ setup_link }, { name }) => showSetupLink(String(name).trim(), setup_link, true),
    })
  return (
    <>
      <PageHead title="Operators" lead="Who may use this console, and what each may do.">
        {can('POST /operators') && (
          // Before, the dialog would lack the subject.
          <button type="button" class="primary" disabled={login.document === undefined} onClick={create}>
            <Icon name="plus" /> New operator
          </button>
        )}
      </PageHead>
      {login.problem !== undefined && <ProblemNote problem={login.problem} retry={login.reload} />}
      <Card flush>
        <ListTable
          caption="Operators"
          list={list}
          keyOf={({ name }) => name}
          pathOf={({ name }) => `/operators/${name}`}
          columns={[
            { name: 'Name', show: ({ name }) => (name === session.value?.operator.name ? `${name} (you)` : name) },
            { name: 'Role', show: ({ role }) => role },
            { name: 'State', show: (operator) => <OperatorState operator={operator} /> },
            {
              name: 'Logs in with',
              show: wayOf,
            },
            { name: 'API tokens', isNumber: true, show: ({ tokens }) => tokens.length },
            { name: 'Last login', show: ({ last_login_at }) => <Time at={last_login_at} /> },
          ]}
          empty={<Empty icon="operators" title="No operator" />}
        />
      </Card>
    </>
  )
}

/** How an operator signs in. */
export function wayOf({ kind, role, has_password, openid }: Schema<'Operator'>): string {
  if (kind === 'built_in') return 'the configured token'
  if (isMachine(role)) return 'API tokens only'
  if (openid !== undefined) return new URL(openid.issuer).host
  return has_password ? 'password' : 'nothing yet'
}

export function OperatorState({
  operator: { enabled, kind, role, has_password, openid },
}: {
  readonly operator: Schema<'Operator'>
}) {
  if (!enabled) return <Badge tone="bad">Disabled</Badge>
  const isSetUp = kind === 'built_in' || isMachine(role) || has_password || openid !== undefined
  if (!isSetUp) return <Badge tone="warn">Not set up</Badge>
  return <Badge tone="good">Enabled</Badge>
}

/** @param link undefined: none was issued */
export function showSetupLink(name: string, link: string | undefined, isRequested = false): void {
  if (link === undefined) return
  showSecret({ title: `Set-up link for ${name}`, rows: [['link', link]], file: `${name}-setup.json`, isRequested })
}
