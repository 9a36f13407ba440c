/** The person's own login: the password and the authenticator. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call, Problem } from '../base/api.ts'
import { session } from '../base/session.ts'
import { Card, Facts, PageHead, ProblemNote, Time } from '../ui/parts.tsx'
import { report } from '../ui/toast.tsx'
import { type Authenticator, CodeField, CodeForm, PASSWORD_CHARACTERS_MIN } from './setup.tsx'

export function OwnLoginPage() {
  const { operator, via, expires_at, has_password } = session.value ?? {}
  return (
    <>
      <PageHead title="Your login" lead={operator?.name ?? ''} />
      <div class="stack">
        <Card>
          <Facts
            rows={[
              ['Role', operator?.role ?? ''],
              ['Logs in with', via !== 'session' ? 'a token' : has_password ? 'password' : 'the issuer'],
              ...(expires_at === undefined ? [] : [['Session ends', <Time key="e" at={expires_at} exact />] as const]),
            ]}
          />
        </Card>
        {has_password && (
          <>
            <PasswordCard />
            <AuthenticatorCard />
          </>
        )}
      </div>
    </>
  )
}

function PasswordCard() {
  const change = async (text: (name: string) => string) => {
    if (text('new_password') !== text('again')) return 'The two new passwords are different.'
    const body = { password: text('password'), totp: text('totp'), new_password: text('new_password') }
    const { document } = await call('POST', '/session/password', body)
    const ended = document.ended_sessions
    report(`The password was changed${ended === 0 ? '' : `, and ${ended} other sessions have ended`}`)
    return undefined
  }
  return (
    <Card title="Password">
      <OwnForm confirm="Change the password" run={change}>
        <label>
          New password
          <input
            name="new_password"
            type="password"
            autocomplete="new-password"
            required
            minLength={PASSWORD_CHARACTERS_MIN}
            maxLength={200}
          />
          <small>At least {PASSWORD_CHARACTERS_MIN} characters. Your other sessions end.</small>
        </label>
        <label>
          New password again
          <input name="again" type="password" autocomplete="new-password" required />
        </label>
      </OwnForm>
    </Card>
  )
}

function AuthenticatorCard() {
  const [begun, setBegun] = useState<{ readonly token: string; readonly totp: Authenticator }>()
  const begin = async (text: (name: string) => string) => {
    setBegun(
      (await call('POST', '/session/authenticator', { password: text('password'), totp: text('totp') })).document,
    )
    return undefined
  }
  const done = () => {
    setBegun(undefined)
    report('The authenticator was replaced, and your other sessions have ended')
  }
  return (
    <Card title="Authenticator">
      {begun === undefined ? (
        <OwnForm confirm="Replace the authenticator" run={begin}>
          <p class="quiet">
            For a new phone or app. The current one stays valid until you enter a code from the new one.
          </p>
        </OwnForm>
      ) : (
        <CodeForm token={begun.token} authenticator={begun.totp} done={done} />
      )}
    </Card>
  )
}

/** A form that asks for password and code again. When the service refuses, all typed text stays. */
function OwnForm({
  confirm,
  run,
  children,
}: {
  readonly confirm: string
  /** Returns a hint when something has to be typed again. */
  readonly run: (text: (name: string) => string) => Promise<string | undefined>
  readonly children: ComponentChildren
}) {
  const [problem, setProblem] = useState<Problem>()
  const [hint, setHint] = useState<string>()
  const submit = async (event: Event) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const typed = new FormData(form)
    const text = (name: string) =>
      name === 'totp' ? String(typed.get(name)).replaceAll(' ', '') : String(typed.get(name))
    setProblem(undefined)
    try {
      const again = await run(text)
      setHint(again)
      if (again === undefined) form.reset()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    }
  }
  return (
    <form onSubmit={submit} class="gate-form">
      {children}
      <label>
        Your current password
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      <CodeField label="Authenticator code" />
      {hint !== undefined && <p class="problem-line">{hint}</p>}
      {problem !== undefined && <ProblemNote problem={problem} />}
      <button type="submit">{confirm}</button>
    </form>
  )
}
