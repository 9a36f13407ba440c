/**
 * The page for a one-time link: a name for the first administrator, a password, and the authenticator. The token is in
 * the address's fragment, which browsers do not send. It is removed from the address as soon as it is read.
 */
import { signal } from '@preact/signals'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { call, Problem } from '../base/api.ts'
import type { AnswerOf } from '../base/operator-api.ts'
import { useResource } from '../base/resource.ts'
import { openNewSession } from '../base/session.ts'
import { Loading, ProblemNote } from '../ui/parts.tsx'
import { QrCode } from '../ui/qr-code.tsx'
import { Gate } from './gate.tsx'

type Link = AnswerOf<'POST', '/setup'>
export type Authenticator = NonNullable<Link['totp']>

function readToken(): string | undefined {
  const token = /^#setup=([^&]+)/.exec(window.location.hash)?.[1]
  if (token !== undefined) window.history.replaceState(null, '', window.location.pathname)
  return token
}

export const setupToken = signal<string | undefined>(readToken())

export function Setup({ token }: { readonly token: string }) {
  const link = useResource(token, async () => (await call('POST', '/setup', { token })).document)
  const [authenticator, setAuthenticator] = useState<Authenticator>()
  if (link.problem !== undefined) {
    return (
      <Gate title="This link cannot be used">
        <ProblemNote problem={link.problem} />
        <p class="quiet">A link works once, within 24 hours. An administrator can create a new one.</p>
        <button type="button" onClick={() => (setupToken.value = undefined)}>
          Go to the login
        </button>
      </Gate>
    )
  }
  if (link.document === undefined) return <Loading />
  return authenticator === undefined ? (
    <PasswordStep token={token} link={link.document} done={setAuthenticator} />
  ) : (
    <CodeStep token={token} authenticator={authenticator} />
  )
}

export const PASSWORD_CHARACTERS_MIN = 12

function PasswordStep({
  token,
  link,
  done,
}: {
  readonly token: string
  readonly link: Link
  readonly done: (authenticator: Authenticator | undefined) => void
}) {
  const [problem, setProblem] = useState<Problem>()
  const [hint, setHint] = useState<string>()
  const fields = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => fields.current?.querySelector('input')?.focus(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const password = String(form.get('password'))
    if (password !== form.get('again')) return setHint('The two passwords are different.')
    setHint(undefined)
    setProblem(undefined)
    try {
      const body = { token, password, ...(link.name === undefined ? { name: String(form.get('name')).trim() } : {}) }
      done((await call('POST', '/setup', body)).document.totp)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    }
  }
  return (
    <Gate title={link.name === undefined ? 'The first administrator' : `Welcome, ${link.name}`}>
      <p class="lead">
        Your role is <strong>{link.role}</strong>. Choose a password. The next step adds your authenticator.
      </p>
      <form onSubmit={submit} class="gate-form" ref={fields}>
        {link.name === undefined && <NameField />}
        <label>
          Password
          <input
            name="password"
            type="password"
            autocomplete="new-password"
            required
            minLength={PASSWORD_CHARACTERS_MIN}
            maxLength={200}
          />
          <small>At least {PASSWORD_CHARACTERS_MIN} characters</small>
        </label>
        <label>
          Password again
          <input
            name="again"
            type="password"
            autocomplete="new-password"
            required
            aria-invalid={hint !== undefined || undefined}
          />
        </label>
        {hint !== undefined && (
          <p class="problem-line" role="alert">
            {hint}
          </p>
        )}
        {problem !== undefined && <ProblemNote problem={problem} />}
        <button type="submit" class="primary">
          Continue
        </button>
      </form>
    </Gate>
  )
}

function NameField() {
  return (
    <label>
      Name
      <input
        name="name"
        autocomplete="username"
        required
        pattern="[a-z0-9][a-z0-9._@\-]{0,63}"
        title="lower-case letters, digits, and . _ @ - after the first character"
        autocapitalize="none"
        spellcheck={false}
      />
      <small>The audit trail names you by it. Lower-case letters, digits, and . _ @ -</small>
    </label>
  )
}

function CodeStep({ token, authenticator }: { readonly token: string; readonly authenticator: Authenticator }) {
  return (
    <Gate title="Your authenticator" isNextStep>
      <CodeForm token={token} authenticator={authenticator} done={() => (setupToken.value = undefined)} />
    </Gate>
  )
}

/** Shows an authenticator's secret, and confirms it with its first code. That uses up the token. */
export function CodeForm({
  token,
  authenticator: { secret, uri },
  done,
}: {
  readonly token: string
  readonly authenticator: Authenticator
  readonly done: () => void
}) {
  const [problem, setProblem] = useState<Problem>()
  const submit = async (event: Event) => {
    event.preventDefault()
    const totp = String(new FormData(event.currentTarget as HTMLFormElement).get('totp')).replaceAll(' ', '')
    setProblem(undefined)
    try {
      const { document } = await call('POST', '/setup/confirm', { token, totp })
      done()
      openNewSession(document)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    }
  }
  return (
    <>
      <p class="lead">Scan this code with an authenticator app, or type the secret into it.</p>
      <QrCode text={uri} label="Your authenticator's secret as a QR code" />
      <p class="secret mono">{secret.match(/.{1,4}/g)?.join(' ')}</p>
      <p class="quiet">
        Is the app on this device? <a href={uri}>Open it with the secret</a>.
      </p>
      <form onSubmit={submit} class="gate-form">
        <CodeField label="The code it shows now" />
        {problem?.code === 'login_failed' ? (
          <p class="problem-line" role="alert">
            The code is wrong or was used before. Type the next one. If it is refused too, correct the clock on the
            device with the app.
          </p>
        ) : (
          problem !== undefined && <ProblemNote problem={problem} />
        )}
        <button type="submit" class="primary">
          Finish
        </button>
      </form>
    </>
  )
}

export function CodeField({ label }: { readonly label: string }) {
  return (
    <label>
      {label}
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
  )
}
