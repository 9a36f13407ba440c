/** A mail server on a local port (RFC 5321, without TLS), which keeps the mails it accepts. */
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ReceivedMail {
  readonly from: string
  readonly recipients: readonly string[]
  /** Head and text. */
  readonly text: string
  /** The user and the password that were sent, separated by a colon. Empty: none. */
  readonly credentials: string
}

export interface SmtpServer {
  readonly port: number
  readonly mails: ReceivedMail[]
  /** As in a mail, for each login. */
  readonly credentials: string[]
  /** Answers to commands, by verb, in place of the usual ones. */
  readonly answers: Map<string, string>
  close(): Promise<void>
}

export async function openSmtpServer(): Promise<SmtpServer> {
  const mails: ReceivedMail[] = []
  const logins: string[] = []
  const answers = new Map<string, string>()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    serve(socket, answers, logins, (mail) => mails.push(mail))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    mails,
    credentials: logins,
    answers,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

function serve(
  socket: Socket,
  answers: ReadonlyMap<string, string>,
  logins: string[],
  keep: (mail: ReceivedMail) => void,
): void {
  let [pending, credentials, from] = ['', '', '']
  let recipients: string[] = []
  let text: string[] | undefined
  const usual = (verb: string, rest: string): string => {
    if (verb === 'EHLO') return '250-localhost\r\n250 AUTH PLAIN'
    if (verb === 'AUTH') {
      const [, user, password] = Buffer.from(rest.split(' ')[1] ?? '', 'base64')
        .toString()
        .split('\0')
      credentials = `${user}:${password}`
      logins.push(credentials)
      return '235 accepted'
    }
    if (verb === 'MAIL') [from, recipients] = [addressIn(rest), []]
    if (verb === 'RCPT') recipients.push(addressIn(rest))
    if (verb === 'DATA') {
      text = []
      return '354 send it'
    }
    if (verb === 'STAR') return '502 no TLS here'
    return verb === 'QUIT' ? '221 bye' : '250 ok'
  }
  const onLine = (line: string): string | undefined => {
    if (text !== undefined && line !== '.') {
      text.push(line.replace(/^\./, ''))
      return undefined
    }
    if (text !== undefined) {
      const refusal = answers.get('.')
      if (refusal === undefined) keep({ from, recipients, text: text.join('\r\n'), credentials })
      text = undefined
      return refusal ?? '250 kept'
    }
    const verb = line.slice(0, 4).toUpperCase()
    return answers.get(verb) ?? usual(verb, line.slice(5))
  }
  socket.write('220 localhost ready\r\n')
  socket.on('data', (chunk) => {
    const lines = (pending + chunk.toString('latin1')).split('\r\n')
    pending = lines.pop() as string
    for (const line of lines) {
      const answer = onLine(line)
      if (answer !== undefined) socket.write(`${answer}\r\n`)
    }
  })
}

function addressIn(text: string): string {
  return /<(.*?)>/.exec(text)?.[1] ?? ''
}
