/**
 * The session's second secret, which the page sends with every call. Browsers send a host's cookies to all its ports,
 * so another program on this machine may have the cookie. Page storage belongs to one address and port. The secret is
 * stored for this tab, and a new tab asks the other tabs for it. Without a signed-in tab, the person signs in again.
 */

const KEY = 'tidegate-session'
/** Tabs with the same origin answer within milliseconds. No other page can listen. */
const ANSWER_MILLISECONDS = 300

type Message = { readonly kind: 'ask' } | { readonly kind: 'secret'; readonly secret: string }

const tabs = new BroadcastChannel(KEY)
const listeners = new Set<() => void>()

/** After a login at the issuer, the secret is in the address's fragment, which browsers do not send. */
function fromAddress(): string | undefined {
  const secret = /^#session=([^&]+)/.exec(window.location.hash)?.[1]
  if (secret !== undefined) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  return secret
}

/** Reacts to a login in another tab. The session module sets it. */
export const otherTabs: { onLogin: () => void } = { onLogin: () => undefined }

const arrived = fromAddress()
let held = arrived ?? sessionStorage.getItem(KEY) ?? undefined
// Only for this tab until the service accepts it: an address may come from a foreign page.
if (arrived !== undefined) store(arrived)

tabs.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'ask') {
    if (held !== undefined) tabs.postMessage({ kind: 'secret', secret: held } satisfies Message)
    return
  }
  const isOther = held !== undefined && data.secret !== held
  store(data.secret)
  for (const listener of listeners) listener()
  if (isOther) otherTabs.onLogin()
}

export function pageSecret(): string | undefined {
  return held
}

/** Keeps a new session's secret in every tab, because the tabs share its cookie. */
export function keepPageSecret(secret: string): void {
  store(secret)
  tabs.postMessage({ kind: 'secret', secret } satisfies Message)
}

export function dropPageSecret(): void {
  held = undefined
  sessionStorage.removeItem(KEY)
}

/** Resolves when another tab has given its secret, or when none has in time. */
export function askOtherTabs(): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      listeners.delete(end)
      resolve()
    }
    const timer = setTimeout(end, ANSWER_MILLISECONDS)
    listeners.add(end)
    tabs.postMessage({ kind: 'ask' } satisfies Message)
  })
}

function store(secret: string): void {
  held = secret
  sessionStorage.setItem(KEY, secret)
}
