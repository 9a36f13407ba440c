/** The checks of this installation, as `tidegate doctor` makes them, with the next step for each problem. */
import { get } from '../base/api.ts'
import { useResource } from '../base/resource.ts'
import { Card, Loading, PageHead, ProblemNote, Status } from '../ui/parts.tsx'

const ORDER = { bad: 0, warn: 1, ok: 2 } as const
const NAMES = { bad: 'Wrong', warn: 'To correct', ok: 'OK' } as const

export function DoctorPage() {
  const { document, problem, isLoading, reload } = useResource('doctor', (signal) => get('/doctor', {}, signal))
  const findings = [...(document?.findings ?? [])].sort((left, right) => ORDER[left.verdict] - ORDER[right.verdict])
  const open = findings.filter(({ verdict }) => verdict !== 'ok').length
  return (
    <>
      <PageHead
        title="Doctor"
        lead={
          document === undefined
            ? 'The checks of this installation.'
            : open === 0
              ? `${findings.length} checks, and nothing to correct.`
              : `${open} of ${findings.length} findings need a person.`
        }
      >
        <button type="button" onClick={reload} disabled={isLoading}>
          {isLoading ? 'Checking' : 'Check again'}
        </button>
      </PageHead>
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {document === undefined && problem === undefined && <Loading />}
      {document !== undefined && (
        <Card flush>
          <ul class="findings">
            {findings.map(({ verdict, name, detail, next }) => (
              <li key={name + detail}>
                <Status of={verdict} text={NAMES[verdict]} />
                <div>
                  <h2>{name}</h2>
                  <p class="break">{detail}</p>
                  {next !== undefined && <p class="next">Next: {next}</p>}
                </div>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  )
}
