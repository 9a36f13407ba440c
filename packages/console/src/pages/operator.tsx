/** One operator: role, access, and API tokens. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { can, session } from '../base/session.ts'
import { ask, type Field } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { Card, Empty, Facts, NotLoaded, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { AuditCard } from './audit.tsx'
import { showSecret } from './client-actions.tsx'
import {
  isMachine,
  MACHINE_OPTIONS,
  OperatorState,
  ROLE_OPTIONS,
  SUBJECT_FIELD,
  showSetupLink,
  wayOf,
} from './operators.tsx'
import { PendingRequests } from './pending-requests.tsx'

const BACK = { path: '/operators', label: 'Operators' }

export function OperatorPage({ name }: { readonly name: string }) {
  const { document, problem, reload } = useGet(`/operators/${name}`)
  if (document === undefined) return <NotLoaded title="Operator" back={BACK} problem={problem} retry={reload} />
  const { role, kind, openid, created_at, last_login_at } = document
  return (
    <>
      <PageHead title={name} back={BACK} lead={role}>
        {kind === 'person' && <OperatorActions operator={document} reload={reload} />}
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={name} />
        <Card>
          <Facts
            rows={[
              ['State', <OperatorState key="s" operator={document} />],
              ['Role', role],
              ['Logs in with', wayOf(document)],
              ...(openid === undefined ? [] : [['Subject', openid.subject] as const]),
              ['Created', <Time key="c" at={created_at} exact />],
              ['Last login', last_login_at === undefined ? 'never' : <Time key="l" at={last_login_at} exact />],
            ]}
          />
        </Card>
        {kind === 'person' && <TokensCard operator={document} reload={reload} />}
        <AuditCard subject={name} />
      </div>
    </>
  )
}

function OperatorActions({ operator, reload }: { readonly operator: Schema<'Operator'>; readonly reload: () => void }) {
  const { name, enabled } = operator
  const offersIssuer = useGet('/login').document?.openid !== undefined
  const isPerson = !isMachine(operator.role)
  // The service refuses this too: administrators who lock themselves out could not undo it.
  if (name === session.value?.operator.name)
    return <span class="quiet">This is you: another administrator can change it.</span>
  return (
    <>
      {isPerson && can('POST /operators/:name/reset') && (
        <button type="button" onClick={() => askReset(operator, reload)}>
          Reset login
        </button>
      )}
      {can('PATCH /operators/:name') && (
        <>
          {isPerson && (
            <button type="button" onClick={() => askRole(operator, reload)}>
              Change role
            </button>
          )}
          {isPerson && offersIssuer && (
            <button type="button" onClick={() => askSubject(operator, reload)}>
              Set subject
            </button>
          )}
          <button type="button" onClick={() => askEnabled(operator, reload)}>
            {enabled ? 'Disable' : 'Enable'}
          </button>
        </>
      )}
    </>
  )
}

function askRole({ name, role }: Schema<'Operator'>, reload: () => void): void {
  ask({
    title: `Role of ${name}`,
    consequence: <p>It applies at once, and {name}'s sessions end.</p>,
    confirm: 'Change',
    fields: [{ name: 'role', label: 'Role', kind: 'select', options: ROLE_OPTIONS, initial: role }],
    fourEyes: 'operators',
    run: (values) => call('PATCH', `/operators/${name}`, { role: values.role }),
    done: () => {
      reload()
      return 'The role was changed'
    },
  })
}

function askEnabled({ name, enabled }: Schema<'Operator'>, reload: () => void): void {
  ask({
    title: enabled ? `Disable ${name}?` : `Enable ${name}?`,
    consequence: (
      <p>
        {enabled ? 'The sessions end at once, and the API tokens stop working.' : 'Login and API tokens work again.'}
      </p>
    ),
    confirm: enabled ? 'Disable' : 'Enable',
    isDangerous: enabled,
    // Disabling needs no second person, so that a stolen login can be stopped at once.
    ...(enabled ? {} : { fourEyes: 'operators' }),
    run: () => call('PATCH', `/operators/${name}`, { enabled: !enabled }),
    done: () => {
      reload()
      return `${name} was ${enabled ? 'disabled' : 'enabled'}`
    },
  })
}

function askSubject({ name, openid }: Schema<'Operator'>, reload: () => void): void {
  ask({
    title: `Subject of ${name}`,
    consequence: (
      <p>
        {name} logs in at the issuer from now on. Password and authenticator are removed, and the sessions end. The
        person with this subject at the issuer can act as {name}.
      </p>
    ),
    confirm: 'Set',
    isDangerous: true,
    fields: [{ ...SUBJECT_FIELD, initial: openid?.subject ?? '' }],
    fourEyes: 'operators',
    run: (values) => call('PATCH', `/operators/${name}`, { subject: values.subject }),
    done: () => {
      reload()
      return 'The subject was set'
    },
  })
}

function askReset({ name }: Schema<'Operator'>, reload: () => void): void {
  ask({
    title: `Reset the login of ${name}?`,
    consequence: (
      <p>Password, authenticator and subject are removed and the sessions end. You get a new link for the person.</p>
    ),
    confirm: 'Reset',
    isDangerous: true,
    fourEyes: 'operators',
    run: () => call('POST', `/operators/${name}/reset`, {}),
    done: ({ setup_link }) => {
      reload()
      showSetupLink(name, setup_link)
      return undefined
    },
    requested: ({ setup_link }) => showSetupLink(name, setup_link, true),
  })
}

function askNewToken({ name, role }: Schema<'Operator'>, reload: () => void): void {
  const show = (tokenName: string, token: string | undefined, isRequested = false) => {
    const file = `${name}-${tokenName}.json`
    if (token !== undefined)
      showSecret({ title: `API token ${tokenName}`, rows: [['token', token]], file, isRequested })
  }
  ask({
    title: `New API token for ${name}`,
    consequence: isMachine(role) ? (
      <p>
        For this machine, shown once. Whoever has it can report {role === 'executor' ? 'payments' : 'deposits'} without
        a second person: limit it to what the machine handles.
      </p>
    ) : (
      <p>For this person's programs. It has at most the person's rights, and is shown once.</p>
    ),
    confirm: 'Create',
    fields: [{ name: 'name', label: 'Name', hint: 'the program that uses it' }, ...tokenFields(role)],
    fourEyes: 'operators',
    run: (values) =>
      call('POST', `/operators/${name}/tokens`, {
        name: values.name,
        role: values.role,
        ...listOf('sources', values.sources),
        ...listOf('assets', values.assets),
      }),
    done: ({ name: tokenName, token }) => {
      reload()
      show(tokenName, token)
      return undefined
    },
    requested: ({ token }, values) => show(String(values.name), token, true),
  })
}

/** The roles available to a token for this operator, and for machines the limits on sources and assets. */
function tokenFields(role: string): readonly Field[] {
  const roles = [...ROLE_OPTIONS, ...MACHINE_OPTIONS].filter(
    ([each]) => each === role || (!isMachine(role) && !isMachine(each) && (role === 'admin' || each === 'viewer')),
  )
  const list = { hint: 'separated by commas, or empty for all', isOptional: true } as const
  return [
    { name: 'role', label: 'Role', kind: 'select', options: roles, initial: role },
    ...(role === 'deposit_reporter' ? [{ name: 'sources', label: 'Only these sources', ...list }] : []),
    ...(isMachine(role) ? [{ name: 'assets', label: 'Only these assets', ...list }] : []),
  ]
}

/** A typed list as a body member. Without values there is no member. */
function listOf(name: string, typed: unknown): Readonly<Record<string, readonly string[]>> {
  const values = String(typed ?? '')
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '')
  return values.length === 0 ? {} : { [name]: values }
}

function askTokenDeletion(name: string, { id, name: tokenName }: Schema<'ApiToken'>, reload: () => void): void {
  ask({
    title: `Delete the token ${tokenName}?`,
    consequence: <p>Programs that use it are refused from now on.</p>,
    confirm: 'Delete',
    isDangerous: true,
    run: () => call('DELETE', `/operators/${name}/tokens/${id}`),
    done: () => {
      reload()
      return 'The token was deleted'
    },
  })
}

/** A token's role with its limits. */
function roleOf({ role, sources = [], assets = [] }: Schema<'ApiToken'>): string {
  const bounds = [...sources, ...assets]
  return bounds.length === 0 ? role : `${role}: ${bounds.join(', ')}`
}

function TokensCard({ operator, reload }: { readonly operator: Schema<'Operator'>; readonly reload: () => void }) {
  const { name, tokens } = operator
  return (
    <Card
      title="API tokens"
      flush
      actions={
        can('POST /operators/:name/tokens') && (
          <button type="button" onClick={() => askNewToken(operator, reload)}>
            <Icon name="plus" /> New token
          </button>
        )
      }
    >
      {tokens.length === 0 ? (
        <Empty icon="key" title="No API token">
          Programs authenticate with a token, so that the audit names the person or machine.
        </Empty>
      ) : (
        <Table
          caption="API tokens"
          items={tokens}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Name', show: (token) => token.name },
            { name: 'Role', show: roleOf },
            { name: 'Created', show: (token) => <Time at={token.created_at} exact /> },
            {
              name: 'Last used',
              show: (token) => (token.last_used_at === undefined ? 'never' : <Time at={token.last_used_at} />),
            },
            ...(can('DELETE /operators/:name/tokens/:id')
              ? [
                  {
                    name: 'Action',
                    show: (token: Schema<'ApiToken'>) => (
                      <button type="button" class="bare text" onClick={() => askTokenDeletion(name, token, reload)}>
                        Delete
                      </button>
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
    </Card>
  )
}
