/**
 * HTTP as bytes on a socket, for requests that no HTTP client sends and responses that no HTTP client shows. Reading
 * ends when the server closes the connection, or after the expected number of responses.
 */
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

export interface RawAnswer {
  readonly status: number
  /** Names in lower case. The last of repeated headers. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Opens a connection to a listener, over TLS with any certificate. */
export function openSocket(url: string): Socket | TLSSocket {
  const { protocol, port, hostname } = new URL(url)
  const socket =
    protocol === 'https:'
      ? connectTls({ port: Number(port), host: hostname, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
      : connect(Number(port), hostname)
  // The server may close the connection while a refused request is still being sent.
  socket.on('error', () => undefined)
  return socket
}

/** Everything the server sends until it closes the connection. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (part) => {
    text += part
  })
  await new Promise((resolve) => socket.once('close', resolve))
  return text
}

/** Sends bytes unchanged and reads until the server closes the connection. */
export async function sendRaw(url: string, ...parts: readonly (string | Buffer)[]): Promise<RawAnswer[]> {
  const socket = openSocket(url)
  const text = readToEnd(socket)
  for (const part of parts) socket.write(part)
  return splitAnswers(await text)
}

/** Parses a server's responses, whose bodies must have a length. Interim responses (1xx) are included. */
export function splitAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const head = rest.slice(0, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    if (end < 0 || Number.isNaN(status)) throw new Error(`not an answer: ${JSON.stringify(rest.slice(0, 200))}`)
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = Number(headers['content-length'] ?? 0)
    answers.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}
