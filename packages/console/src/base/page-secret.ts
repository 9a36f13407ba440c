/**
 * The second secret of the session, which the page sends with every call. Browsers send the cookie of a host to every port of
 * it, so another program on this machine may have the cookie; what a page stores is kept for its own address and port. The
 * secret is stored for this tab, and a new tab asks the others: without one that is signed in, the person signs in again.
 */

const KEY = 'tidegate-session'
/** Tabs of the same origin answer within milliseconds; no other page can listen. */
const ANSWER_MILLISECONDS = 300

type Message = { readonly kind: 'ask' } | { readonly kind: 'secret'; readonly secret: string }

const tabs = new BroadcastChannel(KEY)
const listeners = new Set<() => void>()

/** After a login at the issuer it is in the fragment of the address, which browsers do not send. */
function fromAddress(): string | undefined {
  const secret = /^#session=([^&]+)/.exec(window.location.hash)?.[1]
  if (secret !== undefined) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  return secret
}

const arrived = fromAddress()
let held = arrived ?? sessionStorage.getItem(KEY) ?? undefined
if (arrived !== undefined) keepPageSecret(arrived)

tabs.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'ask') {
    if (held !== undefined) tabs.postMessage({ kind: 'secret', secret: held } satisfies Message)
    return
  }
  store(data.secret)
  for (const listener of listeners) listener()
}

export function pageSecret(): string | undefined {
  return held
}

/** Keeps the secret of a new session, in every tab: they share its cookie. */
export function keepPageSecret(secret: string): void {
  store(secret)
  tabs.postMessage({ kind: 'secret', secret } satisfies Message)
}

export function dropPageSecret(): void {
  held = undefined
  sessionStorage.removeItem(KEY)
}

/** Resolves when another tab has given its secret, or none has in time. */
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
