/**
 * The attacks' HTTP client: one connection per request, a timeout, and responses as plain records. A connection that
 * ends without a response is status 0.
 */
import { request } from 'node:http'

export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** Timeout for the complete response. Later responses count as missing. */
  readonly millisecondsMax?: number
  /** Cancels earlier. */
  readonly signal?: AbortSignal
}

export interface Answer {
  /** 0: there was no response. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Why there was no response. */
  readonly error?: string
}

/** Only ends hanging requests: a busy machine may take long for anything. */
const ANSWER_MILLISECONDS_MAX = 60_000

export function send(url: string, sent: Sent = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, millisecondsMax = ANSWER_MILLISECONDS_MAX, signal } = sent
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve) => {
    const none = (error: string): void => {
      clearTimeout(limit)
      resolve({ status: 0, headers: {}, text: '', error })
    }
    const sending = request(url, { method, agent: false, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('error', (error) => none(error.message))
      response.once('end', () => {
        clearTimeout(limit)
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
    })
    const limit = setTimeout(() => sending.destroy(new Error(`no answer in ${millisecondsMax} ms`)), millisecondsMax)
    sending.once('error', (error) => none(error.message))
    signal?.addEventListener('abort', () => sending.destroy(new Error(String(signal.reason))))
    sending.end(body)
  })
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` }
}

export function json(body: unknown): { readonly headers: Record<string, string>; readonly body: string } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

/** Runs `count` tasks with limited concurrency. Resolves with their results in order. */
export async function pooled<Result>(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      results[index] = await work(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker))
  return results
}

/** Starts `count` tasks at a constant rate, however long each takes. */
export async function paced<Result>(
  count: number,
  perSecond: number,
  work: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const begun = performance.now()
  return await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      await pause(begun + (index * 1_000) / perSecond - performance.now())
      return await work(index)
    }),
  )
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)))
}

/** `200 x 17, 429 x 3`, the most frequent first. */
export function statusText(answers: readonly { readonly status: number }[]): string {
  const counts = new Map<number, number>()
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts]
    .sort(([, left], [, right]) => right - left)
    .map(([status, count]) => `${status === 0 ? 'no answer' : status} x ${count}`)
    .join(', ')
}

const SERVED_MILLISECONDS_MAX = 45_000

/** As `send`, repeated for a limited time while the response is 429 or 503, as a well-behaved client does. */
export async function sendUntilServed(url: string, sent: Sent): Promise<Answer> {
  const begun = performance.now()
  for (;;) {
    const answer = await send(url, sent)
    const isRefused = answer.status === 503 || answer.status === 429
    if (!isRefused || performance.now() - begun > SERVED_MILLISECONDS_MAX) return answer
    await pause(Math.min(Number(answer.headers['retry-after'] ?? 1), 2) * 1_000)
  }
}
