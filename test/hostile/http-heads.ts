/**
 * Bytes that are no HTTP/1.1, or more of it than anybody needs, on the public listener: each is answered with a problem
 * document of the status of the table.
 */
import { type Battlefield, type Family, SECRET_MARK } from './family.ts'
import { checkAnswer } from './handshakes.ts'
import { exchange } from './raw-peer.ts'

interface Head {
  readonly bytes: (field: Battlefield) => Buffer | string
  readonly status: number
}

const HOST = 'Host: tidegate.test\r\n'
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n'

const HEADS: readonly Head[] = [
  { bytes: () => 'hello\r\n\r\n', status: 400 },
  { bytes: () => `GET / HTTP/9.9\r\n${HOST}\r\n`, status: 400 },
  { bytes: () => 'GET / HTTP/1.1\r\n\r\n', status: 400 },
  { bytes: () => `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`, status: 400 },
  { bytes: () => `GET / HTTP/1.1\r\n${HOST}Bad Name: 1\r\n\r\n`, status: 400 },
  { bytes: () => `GET / HTTP/1.1\r\n${HOST}: no name\r\n\r\n`, status: 400 },
  { bytes: () => `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, status: 400 },
  { bytes: () => `GET / HTTP/1.1\r\n${HOST}X: a\rb\r\n\r\n`, status: 400 },
  { bytes: () => `GET /\u0001 HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { bytes: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400 },
  { bytes: () => Buffer.from('16030100c8010000c40303', 'hex'), status: 400 },
  { bytes: () => `G\0T / HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { bytes: () => `CONNECT elsewhere.test:443 HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  {
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`,
    status: 400,
  },
  { bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Content-Length: -1\r\n\r\n`, status: 400 },
  {
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Content-Length: 99999999999999999999\r\n\r\n`,
    status: 400,
  },
  { bytes: () => smuggled('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n'), status: 400 },
  { bytes: () => smuggled('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'), status: 400 },
  { bytes: () => smuggled('Transfer-Encoding: xchunked\r\n'), status: 400 },
  { bytes: () => smuggled('Transfer-Encoding: chunked, identity\r\n'), status: 400 },
  {
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n`,
    status: 400,
  },
  { bytes: ({ headerBytesMax }) => `GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(headerBytesMax)}\r\n\r\n`, status: 431 },
  { bytes: ({ headerBytesMax }) => `GET /${'a'.repeat(headerBytesMax)} HTTP/1.1\r\n${HOST}\r\n`, status: 431 },
  {
    bytes: ({ headerBytesMax }) => `GET / HTTP/1.1\r\n${HOST}${'X: a\r\n'.repeat(headerBytesMax / 4)}\r\n`,
    status: 431,
  },
  { bytes: () => `GET / HTTP/1.1\r\n${HOST}${'X: a\r\n'.repeat(5_000)}\r\n`, status: 431 },
  { bytes: () => `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  { bytes: () => `GET /?token=${SECRET_MARK} HTTP/1.1\r\n${HOST}\r\n`, status: 426 },
  { bytes: () => `GET /%zz HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { bytes: () => `GET /%ff HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { bytes: () => `GET /../../../etc/passwd HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  {
    bytes: () => `GET /admin/v1/customers HTTP/1.1\r\n${HOST}Authorization: Bearer ${SECRET_MARK}\r\n\r\n`,
    status: 404,
  },
  { bytes: () => `GET /metrics HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  { bytes: () => `GET /__proto__ HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  { bytes: () => `DELETE / HTTP/1.1\r\n${HOST}\r\n`, status: 405 },
  // What is wrong with a body does not matter where there is nothing to send it to.
  { bytes: () => withBody('POST /nothing', 'text/plain', 'abc'), status: 404 },
  { bytes: () => withBody('POST /nothing', 'application/json; charset=latin1', '{}'), status: 404 },
  { bytes: () => withBody('PUT /', 'application/json', '{"a":1,"a":1}'), status: 405 },
  { bytes: () => `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
]

function withBody(start: string, contentType: string, body: string): string {
  return `${start} HTTP/1.1\r\n${HOST}Content-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** A request whose end two readers would see at different places, with another one inside. */
function smuggled(lines: string): string {
  return `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}${lines}\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n${HOST}\r\n`
}

export const httpHeads: Family = {
  name: 'HTTP heads',
  share: 0.06,
  async run({ field, serial }) {
    const { bytes, status } = HEADS[serial % HEADS.length] as Head
    const sent = bytes(field)
    const answer = await exchange(field.stream, sent)
    checkAnswer(answer, status, sent.toString())
    return 1
  },
}
