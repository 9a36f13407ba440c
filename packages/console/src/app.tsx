/** Chooses between login, setup and the pages. When a session ends, the login form covers the open page. */
import { useEffect } from 'preact/hooks'
import { location } from './base/router.ts'
import { hasEnded, loadSession, sessionState } from './base/session.ts'
import { SecretDialog } from './pages/client-actions.tsx'
import { Login } from './pages/login.tsx'
import { Setup, setupToken } from './pages/setup.tsx'
import { pageOf } from './routes.tsx'
import { Shell } from './shell/shell.tsx'
import { ActionDialog } from './ui/action-dialog.tsx'
import { Loading, ProblemNote } from './ui/parts.tsx'
import { Toasts } from './ui/toast.tsx'

export function App() {
  const state = sessionState.value
  if (setupToken.value !== undefined) return <Setup token={setupToken.value} />
  if (state.kind === 'unknown') return <Loading />
  if (state.kind === 'none') return <Login />
  if (state.kind === 'unreachable') {
    return (
      <main class="gate">
        <ProblemNote problem={state.problem} retry={() => void loadSession()} />
      </main>
    )
  }
  return (
    <>
      <Shell>
        <CurrentPage />
      </Shell>
      <ActionDialog />
      <SecretDialog />
      <Toasts />
      {hasEnded.value && <Login isOverlay />}
    </>
  )
}

function CurrentPage() {
  const { path } = location.value
  const { title, content } = pageOf(path)
  useEffect(() => {
    document.title = `${title} · Tidegate`
    // A screen reader continues at the new page's heading.
    if (document.activeElement === document.body || document.activeElement?.closest('nav') !== null) {
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    }
  }, [path, title])
  return content
}
