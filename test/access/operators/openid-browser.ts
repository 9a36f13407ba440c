/**
 * A browser as a script: it keeps cookies by host, follows redirections, and reaches the operator listener through its
 * proxy.
 */
import type { OperatorNode } from './operator-node.ts'

export const CONSOLE_ORIGIN = 'https://operator.example'
const THROUGH_PROXY = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }

export interface Page {
  readonly url: URL
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

export class ScriptedBrowser {
  readonly #node: OperatorNode
  readonly #cookies = new Map<string, Map<string, string>>()
  /** What the console's page keeps of the address after a login. */
  #pageSecret: string | undefined
  readonly #address: string

  /** @param address of the person, as the proxy reports it */
  constructor(node: OperatorNode, address = '192.0.2.1') {
    this.#node = node
    this.#address = address
  }

  /** The value of a cookie of the console. */
  cookie(name: string): string | undefined {
    return this.#cookies.get(CONSOLE_ORIGIN)?.get(name)
  }

  setCookie(name: string, value: string): void {
    this.#jarOf(CONSOLE_ORIGIN).set(name, value)
  }

  /** Requests one address, and follows nothing. */
  async open(address: string | URL, form?: Readonly<Record<string, string>>): Promise<Page> {
    const url = new URL(address)
    const isConsole = url.origin === CONSOLE_ORIGIN
    const jar = this.#jarOf(url.origin)
    const response = await fetch(isConsole ? this.#node.url + url.pathname + url.search : url, {
      redirect: 'manual',
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(isConsole ? { ...THROUGH_PROXY, 'x-forwarded-for': this.#address } : {}),
        ...(isConsole && this.#pageSecret !== undefined ? { 'x-csrf-token': this.#pageSecret } : {}),
      },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    this.#pageSecret = /#session=(.+)$/.exec(response.headers.get('location') ?? '')?.[1] ?? this.#pageSecret
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const [name = '', value = ''] = pair.split(/=(.*)/)
      if (attributes.includes('Max-Age=0') || value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return { url, status: response.status, text: await response.text(), headers: response.headers }
  }

  /** Follows redirections until there is a page, or one for which `isEnd` holds. */
  async follow(first: Page, isEnd: (url: URL) => boolean = () => false): Promise<Page> {
    let page = first
    for (let count = 0; page.status >= 300 && page.status < 400; count++) {
      if (count > 10) throw new Error('too many redirections')
      const next = new URL(page.headers.get('location') ?? '', page.url)
      if (isEnd(next)) return { ...page, url: next }
      page = await this.open(next)
    }
    return page
  }

  /** What the login page is shown. */
  async loginWays(): Promise<{
    openid: { start: string; label: string; refusal?: { reason: string; subject?: string } }
  }> {
    return JSON.parse((await this.open(`${CONSOLE_ORIGIN}/admin/v1/login`)).text)
  }

  /** The session of this browser; the status when there is none. */
  async session(): Promise<{ operator: { name: string; role: string }; csrf_token: string } | number> {
    const { status, text } = await this.open(`${CONSOLE_ORIGIN}/admin/v1/session`)
    return status === 200 ? JSON.parse(text) : status
  }

  #jarOf(origin: string): Map<string, string> {
    const jar = this.#cookies.get(origin) ?? new Map<string, string>()
    this.#cookies.set(origin, jar)
    return jar
  }
}
