/** What the operator has paused, and the switches. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Facts, Loading, ProblemNote, Time } from '../ui/parts.tsx'
import { MoneyFrame } from './money.tsx'

type Kind = 'assets' | 'networks' | 'pairs'

const KINDS: readonly (readonly [kind: Kind, label: string, hint: string])[] = [
  ['assets', 'Assets', 'neither credited deposits of it are converted, nor is it delivered'],
  ['networks', 'Networks', 'no conversion that would leave on it, and no delivery over it'],
  ['pairs', 'Pairs', 'written as SOURCE/DESTINATION, such as USDC/USD'],
]

export function ControlsPage() {
  const { document, problem, reload } = useGet('/controls')
  return (
    <MoneyFrame>
      <div class="stack">
        {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
        {document === undefined ? (
          problem === undefined && <Loading />
        ) : (
          <Switches controls={document} reload={reload} />
        )}
      </div>
    </MoneyFrame>
  )
}

function Switches({
  controls: { paused, updated_at },
  reload,
}: {
  readonly controls: Schema<'Controls'>
  readonly reload: () => void
}) {
  const mayChange = can('PATCH /controls')
  const change = (title: string, consequence: string, confirm: string, body: object, isDangerous: boolean) =>
    ask({
      title,
      consequence: <p>{consequence}</p>,
      confirm,
      isDangerous,
      fourEyes: 'controls',
      run: () => call('PATCH', '/controls', { paused: body }),
      done: () => {
        reload()
        return 'Changed'
      },
    })
  const edit = (kind: Kind, label: string, hint: string) =>
    ask({
      title: `Paused ${label.toLowerCase()}`,
      consequence: (
        <p>Money that is concerned waits and loses nothing; what is removed from the list continues at once.</p>
      ),
      confirm: 'Change',
      fourEyes: 'controls',
      fields: [
        {
          name: kind,
          label,
          kind: 'long',
          isOptional: true,
          hint: `one per line; ${hint}`,
          initial: paused[kind].join('\n'),
        },
      ],
      run: (values) =>
        call('PATCH', '/controls', {
          paused: {
            [kind]: String(values[kind])
              .split(/[\s,]+/)
              .filter((name) => name !== ''),
          },
        }),
      done: () => {
        reload()
        return 'Changed'
      },
    })
  return (
    <>
      <Card
        title="All deliveries"
        actions={
          mayChange && (
            <button
              type="button"
              class={paused.deliveries ? 'primary' : 'danger'}
              onClick={() =>
                paused.deliveries
                  ? change(
                      'Resume all deliveries?',
                      'Payments that waited are handed out at once.',
                      'Resume',
                      { deliveries: false },
                      false,
                    )
                  : change(
                      'Pause all deliveries?',
                      'No payment leaves until you resume. Deposits are still credited and converted; deliveries that an executor has claimed already may still be paid.',
                      'Pause',
                      { deliveries: true },
                      true,
                    )
              }
            >
              <Icon name="pause" /> {paused.deliveries ? 'Resume' : 'Pause all'}
            </button>
          )
        }
      >
        <Badge tone={paused.deliveries ? 'bad' : 'good'}>
          {paused.deliveries ? 'Paused: no payment leaves' : 'Running'}
        </Badge>
      </Card>
      <div class="columns">
        {KINDS.map(([kind, label, hint]) => (
          <Card
            key={kind}
            title={label}
            actions={
              mayChange && (
                <button type="button" onClick={() => edit(kind, label, hint)}>
                  Change
                </button>
              )
            }
          >
            {paused[kind].length === 0 ? (
              <p class="quiet">Nothing is paused.</p>
            ) : (
              <p class="badges">
                {paused[kind].map((name) => (
                  <Badge key={name} tone="bad">
                    {name}
                  </Badge>
                ))}
              </p>
            )}
          </Card>
        ))}
      </div>
      <Facts rows={[['Last change', <Time key="u" at={updated_at} exact />]]} />
    </>
  )
}
