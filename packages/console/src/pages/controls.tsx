/** What the operator has paused, and the switches for it. */
import { call } from '../base/api.ts'
import type { Schema } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { ask } from '../ui/action-dialog.tsx'
import { Icon } from '../ui/icons.tsx'
import { Badge, Card, Facts, Loading, ProblemNote, timeFact } from '../ui/parts.tsx'
import { MoneyFrame } from './money.tsx'
import { PendingRequests } from './pending-requests.tsx'

type Kind = 'assets' | 'networks' | 'pairs'

const KINDS: readonly (readonly [kind: Kind, label: string, hint: string])[] = [
  ['assets', 'Assets', 'credited deposits of the asset are not converted, and it is not delivered'],
  ['networks', 'Networks', 'no conversion that would leave on the network, and no delivery over it'],
  ['pairs', 'Pairs', 'written as SOURCE/DESTINATION, such as USDC/USD'],
]

/** A change replaces a whole list, so an old page would resume what another person has paused since. */
const REFRESH_MILLISECONDS = 4_000

export function ControlsPage() {
  const { document, problem, reload } = useGet('/controls', undefined, REFRESH_MILLISECONDS)
  return (
    <MoneyFrame>
      <div class="stack">
        <PendingRequests subject="controls" />
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

interface SwitchesProps {
  readonly controls: Schema<'Controls'>
  readonly reload: () => void
}

function Switches({ controls, reload }: SwitchesProps) {
  return (
    <>
      <DeliveriesSwitch controls={controls} reload={reload} />
      <div class="columns">
        {KINDS.map(([kind, label, hint]) => (
          <PausedNames key={kind} kind={kind} label={label} hint={hint} controls={controls} reload={reload} />
        ))}
      </div>
      <Facts rows={[['Last change', controls.updated_at === undefined ? 'never' : timeFact(controls.updated_at)]]} />
    </>
  )
}

function DeliveriesSwitch({ controls: { paused, deliveries_paused_because: because }, reload }: SwitchesProps) {
  const isPaused = paused.deliveries
  const restored =
    'The store was restored or promoted. Compare it with bank and custody before you resume: docs/how-to/backup.md'
  const change = () =>
    ask({
      title: isPaused ? 'Resume all deliveries?' : 'Pause all deliveries?',
      consequence: (
        <p>
          {isPaused
            ? `${because === undefined ? '' : `${restored}. `}Waiting payments are handed out at once.`
            : 'No payment leaves until you resume. Deposits are still credited and converted. Deliveries that an executor has already claimed may still be paid.'}
        </p>
      ),
      confirm: isPaused ? 'Resume' : 'Pause',
      isDangerous: !isPaused,
      fourEyes: 'controls',
      run: () => call('PATCH', '/controls', { paused: { deliveries: !isPaused } }),
      done: () => {
        reload()
        return isPaused ? 'Deliveries are handed out again' : 'All deliveries are paused'
      },
    })
  return (
    <Card
      title="All deliveries"
      actions={
        can('PATCH /controls') && (
          <button type="button" class={isPaused ? 'primary' : 'danger'} onClick={change}>
            <Icon name="pause" /> {isPaused ? 'Resume' : 'Pause all'}
          </button>
        )
      }
    >
      <Badge tone={isPaused ? 'bad' : 'good'}>{isPaused ? 'Paused: no payment leaves' : 'Running'}</Badge>
      {because !== undefined && <p>{restored}.</p>}
    </Card>
  )
}

function PausedNames({
  kind,
  label,
  hint,
  controls: { paused },
  reload,
}: SwitchesProps & { readonly kind: Kind; readonly label: string; readonly hint: string }) {
  const names = paused[kind]
  const edit = () =>
    ask({
      title: `Paused ${label.toLowerCase()}`,
      consequence: (
        <p>The money concerned waits, and none of it is lost. Anything removed from the list continues at once.</p>
      ),
      confirm: 'Change',
      fourEyes: 'controls',
      fields: [
        { name: kind, label, kind: 'long', isOptional: true, hint: `one per line: ${hint}`, initial: names.join('\n') },
      ],
      run: (values) => {
        const wanted = String(values[kind]).split(/[\s,]+/)
        return call('PATCH', '/controls', { paused: { [kind]: wanted.filter((name) => name !== '') } })
      },
      done: () => {
        reload()
        return `The list of paused ${label.toLowerCase()} was changed`
      },
    })
  return (
    <Card
      title={label}
      actions={
        can('PATCH /controls') && (
          <button type="button" aria-label={`Change ${label.toLowerCase()}`} onClick={edit}>
            Change
          </button>
        )
      }
    >
      {names.length === 0 ? (
        <p class="quiet">Nothing is paused.</p>
      ) : (
        <p class="badges">
          {names.map((name) => (
            <Badge key={name} tone="warn">
              {name}
            </Badge>
          ))}
        </p>
      )}
    </Card>
  )
}
