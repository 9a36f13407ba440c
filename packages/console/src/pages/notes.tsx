/** The operators' notes on one account or rule, with a form that keeps its text until the service has stored it. */
import { useState } from 'preact/hooks'
import { call, Problem } from '../base/api.ts'
import { useList } from '../base/resource.ts'
import { can } from '../base/session.ts'
import { Card, Empty, Loading, ProblemNote, Time } from '../ui/parts.tsx'
import { report } from '../ui/toast.tsx'

type NotesPath = `/accounts/${string}/notes` | `/rules/${string}/notes`

const CHARACTERS_MAX = 2_000

export function NotesCard({ subject, id }: { readonly subject: 'account' | 'rule'; readonly id: string }) {
  const [order, setOrder] = useState<'ASC' | 'DESC'>('DESC')
  const path: NotesPath = subject === 'account' ? `/accounts/${id}/notes` : `/rules/${id}/notes`
  const { items, problem, hasMore, isLoading, more, reload } = useList(path, { order })
  return (
    <Card
      title="Notes"
      note="only operators see them"
      actions={
        <button type="button" class="bare text" onClick={() => setOrder(order === 'DESC' ? 'ASC' : 'DESC')}>
          {order === 'DESC' ? 'Newest first' : 'Oldest first'}
        </button>
      }
    >
      {can(`POST /${subject}s/:id/notes`) && <NoteForm path={path} done={reload} />}
      {problem !== undefined && <ProblemNote problem={problem} retry={reload} />}
      {items === undefined && problem === undefined && <Loading />}
      {items?.length === 0 && <Empty icon="review" title="No note yet" />}
      {items !== undefined && items.length > 0 && (
        <ol class="notes">
          {items.map(({ id: noteId, text, author, created_at }) => (
            <li key={noteId}>
              <p class="quiet">
                <strong class="actor">{author}</strong> <Time at={created_at} exact />
              </p>
              <p class="note-text">{text}</p>
            </li>
          ))}
        </ol>
      )}
      {hasMore && (
        <button type="button" onClick={more} disabled={isLoading}>
          {isLoading ? 'Loading' : 'Show more'}
        </button>
      )}
    </Card>
  )
}

function NoteForm({ path, done }: { readonly path: NotesPath; readonly done: () => void }) {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<Problem>()
  const [isRunning, setRunning] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setRunning(true)
    setProblem(undefined)
    try {
      await call('POST', path, { text })
      setText('')
      done()
      report('The note was added')
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    } finally {
      setRunning(false)
    }
  }
  return (
    <form class="note-form" onSubmit={submit}>
      <label class="field">
        <span>New note</span>
        <textarea rows={3} required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      {problem !== undefined && <ProblemNote problem={problem} />}
      <footer>
        <span class="quiet num">
          {[...text].length} of {CHARACTERS_MAX} characters
        </span>
        <button type="submit" class="primary" disabled={isRunning || text.trim() === ''}>
          Add note
        </button>
      </footer>
    </form>
  )
}
