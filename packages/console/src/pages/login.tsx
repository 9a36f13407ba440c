/** Login with name, password and authenticator code. After a session ends, it appears over the page and keeps it. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../base/api.ts'
import type { AnswerOf } from '../base/operator-api.ts'
import { useGet } from '../base/resource.ts'
import { issuerLogout, logIn, resumeSession } from '../base/session.ts'
import { ProblemNote } from '../ui/parts.tsx'
import { Gate } from './gate.tsx'
import { CodeField } from './setup.tsx'

type OpenidWay = NonNullable<AnswerOf<'GET', '/login'>['openid']>
type Refusal = NonNullable<OpenidWay['refusal']>

/** Why a login at the issuer did not succeed. */
const REFUSALS: Readonly<Record<Refusal['reason'], string>> = {
  denied: 'The login was cancelled, or the issuer does not admit you.',
  disabled: 'Your operator is disabled. An administrator can enable it.',
  expired: 'The login took too long, or was begun in another browser. Try again.',
  failed: "The issuer's answer was not accepted. Try again. The service's log has the reason.",
  rate_limited: 'Too many attempts. Wait a minute, then try again.',
  unavailable: "The issuer cannot be reached. Try again later. The service's log has the reason.",
  unknown_operator: 'The issuer knows you, but no operator has your identity. Give this id to an administrator:',
}

export function Login({ isOverlay = false }: { readonly isOverlay?: boolean }) {
  const options = useGet('/login')
  const [problem, setProblem] = useState<Problem>()
  const [isRunning, setRunning] = useState(false)
  const first = useRef<HTMLInputElement>(null)
  const { document: offered } = options
  // Before the next key.
  useLayoutEffect(() => first.current?.focus(), [offered])
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
      {offered?.openid?.refusal !== undefined && <RefusalNote {...offered.openid.refusal} />}
      {options.problem !== undefined && <ProblemNote problem={options.problem} retry={options.reload} />}
      {offered?.needs_setup && (
        <p class="notice">
          There is no administrator yet. The link for the first administrator is in the file <code>console-setup</code>{' '}
          in the data folder.
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
          <CodeField label="Authenticator code" />
          {problem !== undefined && <ProblemNote problem={problem} />}
          <button type="submit" class="primary" disabled={isRunning}>
            {isRunning ? 'Checking' : 'Log in'}
          </button>
        </form>
      )}
      {offered?.openid !== undefined && <OpenidLogin {...offered.openid} isOverlay={isOverlay} />}
      {issuerLogout.value !== undefined && <IssuerLogout address={issuerLogout.value} />}
    </Gate>
  )
}

function IssuerLogout({ address }: { readonly address: string }) {
  const { host } = new URL(address)
  return (
    <p class="notice">
      You have signed out of Tidegate. {host} may still know you: <a href={address}>sign out there too</a>.
    </p>
  )
}

function RefusalNote({ reason, subject }: Refusal) {
  return (
    <div class="problem" role="alert">
      <div>
        <p>{REFUSALS[reason]}</p>
        {reason === 'unknown_operator' && <p class="secret mono">{subject}</p>}
      </div>
    </div>
  )
}

/** Over a page, the issuer opens in a new tab. Typed text stays, and the page continues with the new session. */
function OpenidLogin({ start, label, isOverlay }: OpenidWay & { readonly isOverlay: boolean }) {
  useEffect(() => {
    if (!isOverlay) return
    const check = () => void (document.visibilityState === 'visible' && resumeSession())
    document.addEventListener('visibilitychange', check)
    return () => document.removeEventListener('visibilitychange', check)
  }, [isOverlay])
  return isOverlay ? (
    <a class="button" href={start} target="_blank" rel="noopener">
      Log in with {label} in a new tab, then come back
    </a>
  ) : (
    <a class="button" href={`${start}?return=${encodeURIComponent(window.location.pathname)}`}>
      Log in with {label}
    </a>
  )
}
