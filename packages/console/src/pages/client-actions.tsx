/** The actions on clients and their secrets. A secret is shown once, in a dialog that the person has to close. */
import { signal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { saveFile } from '../base/save-file.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { report } from '../ui/toast.tsx'
import { NEW_CLIENT_SCOPES, SCOPES } from './scopes.ts'

export interface ShownSecret {
  readonly title: string
  readonly rows: readonly (readonly [name: string, value: string])[]
  /** The name for a saved file. */
  readonly file: string
  /** The file's content; absent: the rows. */
  readonly content?: object
  /** The secret is valid once another person has confirmed the request for it. */
  readonly isRequested?: boolean
}

const shown = signal<ShownSecret | undefined>(undefined)

export function showSecret(secret: ShownSecret): void {
  shown.value = secret
}

export function SecretDialog() {
  const secret = shown.value
  return secret === undefined ? null : <Secret secret={secret} />
}

function Secret({
  secret: { title, rows, file, content = Object.fromEntries(rows), isRequested },
}: {
  readonly secret: ShownSecret
}) {
  const element = useRef<HTMLDialogElement>(null)
  const isTaken = useRef(false)
  useLayoutEffect(() => element.current?.showModal(), [])
  const take = () => {
    isTaken.current = true
    element.current?.close()
  }
  const copy = (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => report('Copied'),
      () => report('The browser does not allow this page to copy', 'bad'),
    )
  return (
    <dialog
      ref={element}
      aria-labelledby="secret-title"
      onCancel={(event) => event.preventDefault()}
      onClose={() => {
        // A browser asks at the first Escape only, and closes it at the next.
        if (isTaken.current) shown.value = undefined
        else element.current?.showModal()
      }}
    >
      <h2 id="secret-title">{title}</h2>
      <p class="secret-warning">This is shown once. Copy it or save it now: the service does not show it again.</p>
      {isRequested && <p>It is valid once another person has confirmed the request. That person does not see it.</p>}
      <dl class="secret-rows">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{value}</code>
              <button type="button" class="bare" aria-label={`Copy ${name}`} onClick={() => void copy(value)}>
                <Icon name="copy" />
              </button>
            </dd>
          </div>
        ))}
      </dl>
      <footer>
        <button
          type="button"
          onClick={() => saveFile(file, `${JSON.stringify(content, null, 2)}\n`, 'application/json')}
        >
          <Icon name="download" /> Save as file
        </button>
        <button type="button" class="primary" onClick={take}>
          I have it
        </button>
      </footer>
    </dialog>
  )
}

/** The file is a credentials file, as `tidegate admin client create --credentials` writes it. */
function showCredentials(title: string, credentials: Schema<'NewClient'> | Schema<'NewSecret'>, file: string): void {
  const { client_id, client_secret, scopes, base_url, auth_url, ws_url } = credentials
  showSecret({
    title,
    rows: [
      ['client_id', client_id],
      ['client_secret', client_secret],
    ],
    file,
    content: { client_id, client_secret, scopes, base_url, auth_url, ws_url },
  })
}

const scopeOptions = Object.keys(SCOPES).map((scope) => [scope, scope] as const)

export function askNewClient(customer: { readonly id: string; readonly name: string }, done: () => void): void {
  ask({
    title: `New client for ${customer.name}`,
    consequence: <p>Its id and secret are shown once, after it is created.</p>,
    confirm: 'Create',
    fields: [
      { name: 'name', label: 'Name', hint: 'for example the program that uses it' },
      { name: 'scopes', label: 'Scopes', kind: 'checks', options: scopeOptions, initial: NEW_CLIENT_SCOPES },
    ],
    run: ({ name, scopes }) => call('POST', `/customers/${customer.id}/clients`, { name, scopes }),
    done: (client) => {
      done()
      showCredentials(`Credentials of ${client.name}`, client, `${customer.name}-${client.name}.json`)
      return undefined
    },
  })
}

export function askScopes(client: Schema<'Client'>, done: () => void): void {
  ask({
    title: `Scopes of ${client.name}`,
    consequence: <p>Removed scopes stop working at once, even for existing tokens and open connections.</p>,
    confirm: 'Change',
    fields: [{ name: 'scopes', label: 'Scopes', kind: 'checks', options: scopeOptions, initial: client.scopes }],
    run: ({ scopes }) => call('PATCH', `/clients/${client.client_id}`, { scopes }),
    done: () => {
      done()
      return 'The scopes were changed'
    },
  })
}

export function askEnabled(client: Schema<'Client'>, done: () => void): void {
  const { client_id, name, enabled } = client
  ask({
    title: enabled ? `Disable ${name}?` : `Enable ${name}?`,
    consequence: (
      <p>
        {enabled
          ? 'It gets no tokens, its tokens stop working, and its connections are closed at once.'
          : 'It can get tokens and connect again with its secrets.'}
      </p>
    ),
    confirm: enabled ? 'Disable' : 'Enable',
    isDangerous: enabled,
    run: () => call('PATCH', `/clients/${client_id}`, { enabled: !enabled }),
    done: () => {
      done()
      return `${name} was ${enabled ? 'disabled' : 'enabled'}`
    },
  })
}

export function askRevocation(client: Schema<'Client'>, done: () => void): void {
  ask({
    title: `Revoke all tokens of ${client.name}?`,
    consequence: (
      <p>
        All its tokens become invalid at once, and its connections are closed. Its secrets stay valid: it can get new
        tokens.
      </p>
    ),
    confirm: 'Revoke',
    isDangerous: true,
    run: () => call('POST', `/clients/${client.client_id}/revoke-tokens`, {}),
    done: () => {
      done()
      return 'All tokens were revoked'
    },
  })
}

export function askNewSecret(client: Schema<'Client'>, done: () => void): void {
  ask({
    title: `New secret for ${client.name}`,
    consequence: (
      <p>
        A client has at most two secrets, so that one can be replaced without an interruption: create, deploy, delete
        the old one.
      </p>
    ),
    confirm: 'Create',
    run: () => call('POST', `/clients/${client.client_id}/secrets`, {}),
    done: (secret) => {
      done()
      showCredentials(`New secret for ${client.name}`, secret, `${client.name}.json`)
      return undefined
    },
  })
}

export function askSecretDeletion(client: Schema<'Client'>, secretId: string, done: () => void): void {
  ask({
    title: 'Delete this secret?',
    consequence: (
      <p>
        {client.secrets.length === 1
          ? 'It is the only one: the client cannot get tokens until it has a new secret. '
          : ''}
        Tokens issued for it stay valid until they expire. Revoke them too if the secret leaked.
      </p>
    ),
    confirm: 'Delete',
    isDangerous: true,
    run: () => call('DELETE', `/clients/${client.client_id}/secrets/${secretId}`),
    done: () => {
      done()
      return 'The secret was deleted'
    },
  })
}
