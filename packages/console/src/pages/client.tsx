/** One client: its scopes, secrets and connections. */
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { href } from '../base/router.ts'
import { can } from '../base/session.ts'
import { Customer } from '../ui/customer.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Empty, Facts, Id, Loading, PageHead, ProblemNote, Time, timeFact } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { askEnabled, askNewSecret, askRevocation, askScopes, askSecretDeletion } from './client-actions.tsx'
import { ConnectionsCard } from './connections.tsx'
import { PendingRequests } from './pending-requests.tsx'
import { askClientPlan } from './plans.tsx'
import { SCOPES } from './scopes.ts'

const REFRESH_MILLISECONDS = 4_000

export function ClientPage({ id }: { readonly id: string }) {
  // New scopes replace all of them, so an old page would grant again what another person has removed since.
  const client = useGet(`/clients/${id}`, undefined, REFRESH_MILLISECONDS)
  const connections = useGet('/connections', { client_id: id, limit: 200 }, REFRESH_MILLISECONDS)
  const plans = useGet('/plans').document?.items ?? []
  const { document, problem, reload } = client
  if (document === undefined)
    return problem === undefined ? <Loading /> : <ProblemNote problem={problem} retry={reload} />
  const { name, customer_id, enabled } = document
  return (
    <>
      <PageHead
        title={name}
        back={{ path: `/customers/${customer_id}`, label: 'Customer' }}
        lead={
          <>
            Client of <Customer id={customer_id} />
          </>
        }
      >
        {can('POST /clients/:id/revoke-tokens') && (
          <button type="button" onClick={() => askRevocation(document, reload)}>
            Revoke tokens
          </button>
        )}
        {can('PATCH /clients/:id') && (
          <button type="button" disabled={plans.length === 0} onClick={() => askClientPlan(document, plans, reload)}>
            Change plan
          </button>
        )}
        {can('PATCH /clients/:id') && (
          <button type="button" onClick={() => askEnabled(document, reload)}>
            {enabled ? 'Disable' : 'Enable'}
          </button>
        )}
      </PageHead>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        <PendingRequests subject={id} />
        <ClientFacts client={document} />
        <div class="columns">
          <ScopesCard client={document} reload={reload} />
          <SecretsCard client={document} reload={reload} />
        </div>
        <ConnectionsCard connections={connections} clients={[document]} />
      </div>
    </>
  )
}

function ClientFacts({ client }: { readonly client: Schema<'Client'> }) {
  return (
    <Card>
      <Facts
        rows={[
          [
            'State',
            <Badge key="s" tone={client.enabled ? 'good' : 'bad'}>
              {client.enabled ? 'Enabled' : 'Disabled'}
            </Badge>,
          ],
          [
            'Plan',
            client.plan === undefined ? (
              "its customer's"
            ) : (
              <a key="p" href={href(`/plans/${client.plan}`)}>
                {client.plan}
              </a>
            ),
          ],
          ['Client id', <Id key="i" of={client.client_id} />],
          ['Created', timeFact(client.created_at)],
          ['Tokens valid if issued after', timeFact(client.tokens_valid_from)],
          ['Markets it may publish', client.publish_markets.join(', ')],
        ]}
      />
    </Card>
  )
}

function ScopesCard({ client, reload }: { readonly client: Schema<'Client'>; readonly reload: () => void }) {
  const { scopes } = client
  return (
    <Card
      title="Scopes"
      actions={
        can('PATCH /clients/:id') && (
          <button type="button" onClick={() => askScopes(client, reload)}>
            Change
          </button>
        )
      }
    >
      {scopes.length === 0 ? (
        <Empty title="No scope">It can get a token that permits nothing.</Empty>
      ) : (
        <ul class="scopes">
          {scopes.map((scope) => (
            <li key={scope}>
              <code>{scope}</code>
              <span class="quiet">{SCOPES[scope] ?? ''}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const SECRETS_MAX = 2

function SecretsCard({ client, reload }: { readonly client: Schema<'Client'>; readonly reload: () => void }) {
  const { secrets } = client
  return (
    <Card
      title="Secrets"
      flush
      note={`${secrets.length} of ${SECRETS_MAX}`}
      actions={
        can('POST /clients/:id/secrets') &&
        secrets.length < SECRETS_MAX && (
          <button type="button" onClick={() => askNewSecret(client, reload)}>
            <Icon name="plus" /> New secret
          </button>
        )
      }
    >
      {secrets.length === 0 ? (
        <Empty icon="key" title="No secret">
          The client cannot get tokens.
        </Empty>
      ) : (
        <Table
          caption="Secrets"
          items={secrets}
          keyOf={({ id }) => id}
          columns={[
            { name: 'Secret', show: ({ id }) => <Id of={id} /> },
            { name: 'Created', show: ({ created_at }) => <Time at={created_at} exact /> },
            ...(can('DELETE /clients/:id/secrets/:secret')
              ? [
                  {
                    name: 'Action',
                    show: ({ id }: { readonly id: string }) => (
                      <button type="button" class="bare text" onClick={() => askSecretDeletion(client, id, reload)}>
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
