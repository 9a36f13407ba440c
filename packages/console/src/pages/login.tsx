/** Login with name, password and the code of the authenticator; over a page whose session ended, without losing the page. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../base/api.ts'
import { useGet } from '../base/resource.ts'
import { logIn } from '../base/session.ts'
import { ProblemNote } from '../ui/parts.tsx'
import { Gate } from './gate.tsx'

export function Login({ isOverlay = false }: { readonly isOverlay?: boolean }) {
  const options = useGet('/login')
  const [problem, setProblem] = useState<Problem>()
  const [isRunning, setRunning] = useState(false)
  const first = useRef<HTMLInputElement>(null)
  const { document: offered } = options
  useEffect(() => first.current?.focus(), [offered])
  const submit = async (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string) => String(form.get(name) ?? '')
    setRunning(true)
    setProblem(undefined)
    try {
      await logIn(text('name').trim(), text('password'), text('totp').replaceAll(' ', ''))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    }
    setRunning(false)
  }
  return (
    <Gate isOverlay={isOverlay} title={isOverlay ? 'Your session has ended' : 'Log in'}>
      {isOverlay && <p class="lead">Log in again to continue. What you typed is still there.</p>}
      {options.problem !== undefined && <ProblemNote problem={options.problem} retry={options.reload} />}
      {offered?.needs_setup && (
        <p class="notice">
          There is no administrator yet. The link that creates the first administrator is in the file{' '}
          <code>console-setup</code> of the data folder.
        </p>
      )}
      {offered?.password === false && <p class="notice">{offered.password_reason}</p>}
      {offered?.password && (
        <form onSubmit={submit} class="gate-form">
          <label>
            Name
            <input ref={first} name="name" autocomplete="username" required autocapitalize="none" spellcheck={false} />
          </label>
          <label>
            Password
            <input name="password" type="password" autocomplete="current-password" required />
          </label>
          <label>
            Code of your authenticator
            <input
              name="totp"
              class="code"
              inputMode="numeric"
              autocomplete="one-time-code"
              pattern="[0-9 ]{6,7}"
              title="six digits"
              required
            />
          </label>
          {problem !== undefined && <ProblemNote problem={problem} />}
          <button type="submit" class="primary" disabled={isRunning}>
            {isRunning ? 'Checking' : 'Log in'}
          </button>
        </form>
      )}
    </Gate>
  )
}
