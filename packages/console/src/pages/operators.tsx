/** The people who may use this console, their roles and API tokens. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useList } from '../base/resource.ts'
import { navigate } from '../base/router.ts'
import { can, session } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Empty, PageHead, Time } from '../ui/parts.tsx'
import { ListTable } from '../ui/table.tsx'
import { showSecret } from './client-actions.tsx'
import { ROLE_OPTIONS } from './operator.tsx'

export function OperatorsPage() {
  const list = useList('/operators', {})
  const create = () =>
    ask({
      title: 'New operator',
      consequence: (
        <p>
          You get a link that is valid for 24 hours and once. The person chooses a password and an authenticator with
          it.
        </p>
      ),
      confirm: 'Create',
      fields: [
        {
          name: 'name',
          label: 'Name',
          hint: 'lower-case letters, digits, and . _ @ -; the audit names the person by it',
        },
        { name: 'role', label: 'Role', kind: 'select', options: ROLE_OPTIONS },
      ],
      run: ({ name, role }) => call('POST', '/operators', { name: String(name).trim(), role }),
      done: ({ name, setup_link }) => {
        showSetupLink(name, setup_link)
        navigate(`/operators/${name}`)
        return undefined
      },
    })
  return (
    <>
      <PageHead title="Operators" lead="Who may use this console, and what each may do.">
        {can('POST /operators') && (
          <button type="button" class="primary" onClick={create}>
            <Icon name="plus" /> New operator
          </button>
        )}
      </PageHead>
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
              show: ({ kind, has_password }) =>
                kind === 'built_in' ? 'the token of the configuration' : has_password ? 'password' : 'nothing yet',
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

export function OperatorState({
  operator: { enabled, kind, has_password },
}: {
  readonly operator: Schema<'Operator'>
}) {
  if (!enabled) return <Badge tone="bad">Disabled</Badge>
  if (kind === 'person' && !has_password) return <Badge tone="warn">Not set up</Badge>
  return <Badge tone="good">Enabled</Badge>
}

export function showSetupLink(name: string, link: string): void {
  showSecret({ title: `Set-up link of ${name}`, rows: [['link', link]], file: `${name}-setup.json` })
}
