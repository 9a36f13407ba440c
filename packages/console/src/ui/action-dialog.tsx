/**
 * The only dialog for actions. It states the consequence, asks for the call's values, and stays open with everything
 * typed when the service refuses. A refusal that arrives after it was closed is reported. Where four eyes are required, it states that a second person has to confirm.
 */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Answer, type Issued, Problem, type Requested, withComment } from '../base/api.ts'
import { shown } from '../base/format.ts'
import { href } from '../base/router.ts'
import { type FourEyesKind, needsFourEyes, refreshSession } from '../base/session.ts'
import { ProblemNote } from './parts.tsx'
import { Exact } from './place.tsx'
import { report } from './toast.tsx'

export interface Field {
  readonly name: string
  readonly label: string
  readonly kind?: 'text' | 'number' | 'long' | 'select' | 'check' | 'checks'
  readonly hint?: string
  readonly initial?: string | boolean | readonly string[]
  readonly isOptional?: boolean
  /** The typed text is repeated in groups of four characters, for comparison. */
  readonly isExact?: boolean
  readonly options?: readonly (readonly [value: string, text: string])[]
}

export type Values = Readonly<Record<string, string | boolean | readonly string[]>>

export interface Action<Document> {
  readonly title: string
  /** What will happen, for the person who decides. */
  readonly consequence: ComponentChildren
  readonly confirm: string
  readonly isDangerous?: boolean
  /** The call's fields. They may depend on the values entered, and on the code of the service's refusal. */
  readonly fields?: readonly Field[] | ((refusal: string | undefined, values: Values) => readonly Field[])
  readonly fourEyes?: FourEyesKind
  readonly run: (values: Values) => Promise<Answer<Document>>
  /** Called after the change was made. A returned text is reported. */
  readonly done: (document: Document) => string | undefined
  /** Called when the change was requested, with the secrets that become valid once it is confirmed. */
  readonly requested?: (issued: Issued, values: Values) => void
  /** Called when the service has refused the change. If it returns a text, that is reported and the dialog closes. */
  readonly refused?: (problem: Problem) => string | undefined
}

const COMMENT: Field = { name: 'comment', label: 'Comment for the second person', kind: 'long' }

/** How many requests for a second person this page has made. */
export const requestsMade = signal(0)

const current = signal<Action<unknown> | undefined>(undefined)
let askedCount = 0

export function ask<Document>(action: Action<Document>): void {
  askedCount++
  current.value = action as Action<unknown>
}

export function ActionDialog() {
  const action = current.value
  // The dialog before, which may have the same title, reports only later that it was closed.
  return action === undefined ? null : <Dialog key={askedCount} action={action} />
}

function fieldsOf(
  { fields = [] }: Action<unknown>,
  refusal: string | undefined,
  values: Values,
  hasSecond: boolean,
): readonly Field[] {
  const own = typeof fields === 'function' ? fields(refusal, values) : fields
  return hasSecond ? [...own, COMMENT] : own
}

function initialValues(fields: readonly Field[]): Values {
  return Object.fromEntries(
    fields.map(({ name, kind, initial, options }) => [
      name,
      initial ??
        (kind === 'check' ? false : kind === 'checks' ? [] : kind === 'select' ? (options?.[0]?.[0] ?? '') : ''),
    ]),
  )
}

/** What the service has refused about a field. */
function faultIn(problem: Problem | undefined, name: string): string | undefined {
  return problem?.faults.find(({ pointer }) => pointer === `/${name}` || pointer?.startsWith(`/${name}/`))?.detail
}

function endRequested({ requested }: Action<unknown>, { request, issued }: Requested, values: Values): void {
  requestsMade.value++
  report(
    <>
      Requested. <a href={href(`/review/requests/${request.id}`)}>A second person has to confirm it.</a>
    </>,
  )
  requested?.(issued, values)
}

function Dialog({ action }: { readonly action: Action<unknown> }) {
  const { title, consequence, confirm, isDangerous, fourEyes, run, done, refused } = action
  const hasSecond = fourEyes !== undefined && needsFourEyes(fourEyes)
  const element = useRef<HTMLDialogElement>(null)
  const [problem, setProblem] = useState<Problem>()
  const [refusal, setRefusal] = useState<string>()
  const [values, setValues] = useState<Values>(() => initialValues(fieldsOf(action, refusal, {}, hasSecond)))
  const fields = fieldsOf(action, refusal, values, hasSecond)
  const [isRunning, setRunning] = useState(false)
  useLayoutEffect(() => element.current?.showModal(), [])
  // The browser restores the previous focus.
  const close = () => element.current?.close()
  const ended = () => {
    if (current.value === action) current.value = undefined
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    setRunning(true)
    setProblem(undefined)
    try {
      const answer = await withComment(hasSecond ? values.comment : undefined, () => run(values))
      close()
      if (answer.request !== undefined) return endRequested(action, answer, values)
      const text = done(answer.document)
      if (text !== undefined) report(text)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const text = refused?.(error)
      if (text !== undefined) {
        close()
        report(text, 'bad')
        return
      }
      // The person has closed it meanwhile.
      if (element.current === null) return report(`${confirm}: ${error.message}`, 'bad')
      setProblem(error)
      // A reload of the configuration has changed which calls have one.
      if (faultIn(error, COMMENT.name) !== undefined) void refreshSession()
      setRefusal(error.code)
      setRunning(false)
    }
  }
  return (
    <dialog ref={element} class="action" aria-labelledby="action-title" onClose={ended}>
      <form onSubmit={submit}>
        <h2 id="action-title">{shown(title)}</h2>
        <div class="consequence">{consequence}</div>
        {hasSecond && <p class="four-eyes">Four eyes: nothing changes until another person confirms this request.</p>}
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            value={values[field.name]}
            fault={faultIn(problem, field.name)}
            change={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
        {problem !== undefined && <ProblemNote problem={problem} />}
        <footer>
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={isRunning}>
            {hasSecond ? `Request: ${confirm.toLowerCase()}` : confirm}
          </button>
        </footer>
      </form>
    </dialog>
  )
}

interface FieldInputProps {
  readonly field: Field
  readonly value: Values[string] | undefined
  readonly fault: string | undefined
  readonly change: (value: Values[string]) => void
}

function FieldInput(props: FieldInputProps) {
  const { kind } = props.field
  if (kind === 'check') return <CheckField {...props} />
  if (kind === 'checks') return <ChecksField {...props} />
  return <TextField {...props} />
}

function CheckField({ field: { label, hint }, value, change }: FieldInputProps) {
  return (
    <label class="field check">
      <input type="checkbox" checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />
      <span>
        {label}
        {hint !== undefined && <small>{hint}</small>}
      </span>
    </label>
  )
}

function ChecksField({ field: { label, hint, options = [] }, value, fault, change }: FieldInputProps) {
  const chosen = Array.isArray(value) ? value : []
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {hint !== undefined && <small>{hint}</small>}
      {options.map(([option, text]) => (
        <label key={option} class="check">
          <input
            type="checkbox"
            checked={chosen.includes(option)}
            onChange={(event) =>
              change(event.currentTarget.checked ? [...chosen, option] : chosen.filter((each) => each !== option))
            }
          />
          <span>{text}</span>
        </label>
      ))}
      {fault !== undefined && <small class="fault">{fault}</small>}
    </fieldset>
  )
}

/** A single line, several lines, or a choice. */
function TextField({
  field: { name, label, kind = 'text', hint, isOptional, isExact, options = [] },
  value,
  fault,
  change,
}: FieldInputProps) {
  const id = `field-${name}`
  const shared = {
    id,
    name,
    required: !isOptional,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': fault !== undefined,
    value: typeof value === 'string' ? value : '',
  }
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isOptional && <span class="quiet"> (optional)</span>}
      </label>
      {kind === 'select' && (
        <select {...shared} onChange={(event) => change(event.currentTarget.value)}>
          {options.map(([option, optionText]) => (
            <option key={option} value={option}>
              {optionText}
            </option>
          ))}
        </select>
      )}
      {kind === 'long' && <textarea {...shared} rows={3} onInput={(event) => change(event.currentTarget.value)} />}
      {(kind === 'text' || kind === 'number') && (
        <input
          {...shared}
          inputMode={kind === 'number' ? 'numeric' : 'text'}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
      {isExact && shared.value.trim() !== '' && <Exact of={shared.value.trim()} />}
      <small id={`${id}-hint`} class={fault === undefined ? '' : 'fault'}>
        {fault ?? hint}
      </small>
    </div>
  )
}
