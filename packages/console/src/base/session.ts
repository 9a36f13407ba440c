/**
 * The console user's session: the person, the role's permissions, and what happens when it ends. The permissions come
 * from the service (`allows`), so the console has no role table of its own.
 */
import { computed, signal } from '@preact/signals'
import { call, credentials, get, Problem } from './api.ts'
import type { Schema } from './operator-api.ts'
import { askOtherTabs, dropPageSecret, keepPageSecret, otherTabs, pageSecret } from './page-secret.ts'

export type Session = Schema<'Session'>
export type FourEyesKind = Schema<'ChangeRequest'>['kind']

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'none' }
  | { readonly kind: 'unreachable'; readonly problem: Problem }
  | { readonly kind: 'open'; readonly session: Session }

export const sessionState = signal<SessionState>({ kind: 'unknown' })
/** Whether an open session ended while the page was shown. Typed text stays behind the login form. */
export const hasEnded = signal(false)

export const session = computed(() => (sessionState.value.kind === 'open' ? sessionState.value.session : undefined))

/** After signing out: the page that signs out at the issuer too. */
export const issuerLogout = signal<string | undefined>(undefined)

const allowed = computed(() => new Set(session.value?.allows ?? []))

/** @param operation as in `allows`: method and path with `:id` for every id, such as `POST /rules/:id/approve` */
export function can(operation: string): boolean {
  return allowed.value.has(operation)
}

/** Whether writes of this kind need a second person. */
export function needsFourEyes(kind: FourEyesKind): boolean {
  return session.value?.four_eyes.includes(kind) === true
}

function openSession(document: Session): void {
  hasEnded.value = false
  issuerLogout.value = undefined
  sessionState.value = { kind: 'open', session: document }
}

export async function loadSession(): Promise<void> {
  if (pageSecret() === undefined) await askOtherTabs()
  const secret = pageSecret()
  if (secret === undefined) {
    sessionState.value = { kind: 'none' }
    return
  }
  try {
    openSession(await get('/session'))
    keepPageSecret(secret)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const isEnded = error.status === 401 || error.code === 'csrf_failed'
    sessionState.value = isEnded ? { kind: 'none' } : { kind: 'unreachable', problem: error }
  }
}

/** Opens a new login's session in this tab. Only the login's answer has its secret. */
export function openNewSession(document: Session): void {
  if (document.csrf_token !== undefined) keepPageSecret(document.csrf_token)
  openSession(document)
}

/** Continues with a session opened elsewhere in this browser. Without one, nothing changes. */
export async function resumeSession(): Promise<void> {
  await askOtherTabs()
  if (pageSecret() !== undefined) await refreshSession()
}

/** Reads what the person may do, and what needs a second person. If it cannot be read, nothing changes. */
export async function refreshSession(): Promise<void> {
  try {
    openSession(await get('/session'))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
  }
}

export async function logIn(name: string, password: string, totp: string): Promise<void> {
  const { document } = await call('POST', '/session', { name, password, totp })
  openNewSession(document)
}

export async function logOut(): Promise<void> {
  const { document } = await call('DELETE', '/session')
  issuerLogout.value = document?.issuer_logout
  dropPageSecret()
  sessionState.value = { kind: 'none' }
}

/**
 * All tabs have the cookie of the last login, so this tab's calls are made by whoever logged in there: it shows that
 * person. If it cannot, it asks for a login.
 */
async function followLogin(): Promise<void> {
  if (sessionState.value.kind !== 'open') return
  try {
    openSession(await get('/session'))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    hasEnded.value = true
  }
}

otherTabs.onLogin = () => void followLogin()

credentials.onEnded = () => {
  if (sessionState.value.kind === 'open') hasEnded.value = true
}
