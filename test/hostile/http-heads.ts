/**
 * Malformed or oversized HTTP/1.1 on the public listener: each is answered with a problem document and the documented
 * status.
 */
import { type AttackContext, demand, type Family, SECRET_MARK } from './family.ts'
import { checkAnswer } from './handshakes.ts'
import { RawPeer, readAnswer } from './raw-peer.ts'

interface Head {
  readonly name: string
  readonly bytes: (field: AttackContext) => Buffer | string
  readonly status: number
  /** The fault comes after the head, so that the route responds in its own format. */
  readonly isInBody?: true
}

const HOST = 'Host: tidegate.test\r\n'
const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n'

const HEADS: readonly Head[] = [
  { name: 'no HTTP', bytes: () => 'hello\r\n\r\n', status: 400 },
  { name: 'an unknown version', bytes: () => `GET / HTTP/9.9\r\n${HOST}\r\n`, status: 400 },
  { name: 'no Host', bytes: () => 'GET / HTTP/1.1\r\n\r\n', status: 400 },
  { name: 'two Hosts', bytes: () => `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`, status: 400 },
  { name: 'a blank in a field name', bytes: () => `GET / HTTP/1.1\r\n${HOST}Bad Name: 1\r\n\r\n`, status: 400 },
  { name: 'a field without a name', bytes: () => `GET / HTTP/1.1\r\n${HOST}: no name\r\n\r\n`, status: 400 },
  { name: 'a NUL in a field value', bytes: () => `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, status: 400 },
  { name: 'a bare CR in a field value', bytes: () => `GET / HTTP/1.1\r\n${HOST}X: a\rb\r\n\r\n`, status: 400 },
  { name: 'a control character in the target', bytes: () => `GET /\u0001 HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { name: 'HTTP/2 preface', bytes: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400 },
  { name: 'a TLS handshake', bytes: () => Buffer.from('16030100c8010000c40303', 'hex'), status: 400 },
  { name: 'a NUL in the method', bytes: () => `G\0T / HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { name: 'CONNECT', bytes: () => `CONNECT elsewhere.test:443 HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  {
    name: 'two lengths that differ',
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`,
    status: 400,
  },
  {
    name: 'a negative length',
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Content-Length: -1\r\n\r\n`,
    status: 400,
  },
  {
    name: 'a length beyond any number',
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Content-Length: 99999999999999999999\r\n\r\n`,
    status: 400,
  },
  {
    name: 'chunked, then a length',
    bytes: () => smuggled('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n'),
    status: 400,
  },
  {
    name: 'a length, then chunked',
    bytes: () => smuggled('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'),
    status: 400,
  },
  { name: 'an unknown transfer coding', bytes: () => smuggled('Transfer-Encoding: xchunked\r\n'), status: 400 },
  {
    name: 'chunked is not the last coding',
    bytes: () => smuggled('Transfer-Encoding: chunked, identity\r\n'),
    status: 400,
  },
  {
    name: 'a chunk size that is no number',
    bytes: () => `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n`,
    status: 400,
  },
  {
    name: 'a field as large as a head may be',
    bytes: ({ headerBytesMax }) => `GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(headerBytesMax)}\r\n\r\n`,
    status: 431,
  },
  {
    name: 'a target as large as a head may be',
    bytes: ({ headerBytesMax }) => `GET /${'a'.repeat(headerBytesMax)} HTTP/1.1\r\n${HOST}\r\n`,
    status: 431,
  },
  {
    name: 'fields as large as a head may be',
    bytes: ({ headerBytesMax }) => `GET / HTTP/1.1\r\n${HOST}${'X: a\r\n'.repeat(headerBytesMax / 4)}\r\n`,
    status: 431,
  },
  {
    name: 'five thousand small fields',
    bytes: () => `GET / HTTP/1.1\r\n${HOST}${'X: a\r\n'.repeat(5_000)}\r\n`,
    status: 431,
  },
  { name: 'a long path', bytes: () => `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  { name: 'a token in the query', bytes: () => `GET /?token=${SECRET_MARK} HTTP/1.1\r\n${HOST}\r\n`, status: 426 },
  { name: 'a bad escape in the target', bytes: () => `GET /%zz HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { name: 'an escape that is no UTF-8', bytes: () => `GET /%ff HTTP/1.1\r\n${HOST}\r\n`, status: 400 },
  { name: 'dots above the root', bytes: () => `GET /../../../etc/passwd HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  {
    name: 'the operator API',
    bytes: () => `GET /admin/v1/customers HTTP/1.1\r\n${HOST}Authorization: Bearer ${SECRET_MARK}\r\n\r\n`,
    status: 404,
  },
  { name: 'the metrics', bytes: () => `GET /metrics HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  { name: 'a prototype name as the path', bytes: () => `GET /__proto__ HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  { name: 'another method at the stream', bytes: () => `DELETE / HTTP/1.1\r\n${HOST}\r\n`, status: 405 },
  // A fault in the body does not matter where the route does not exist.
  { name: 'a body for nothing', bytes: () => withBody('POST /nothing', 'text/plain', 'abc'), status: 404 },
  {
    name: 'a charset for nothing',
    bytes: () => withBody('POST /nothing', 'application/json; charset=latin1', '{}'),
    status: 404,
  },
  {
    name: 'a repeated member for nothing',
    bytes: () => withBody('PUT /', 'application/json', '{"a":1,"a":1}'),
    status: 405,
  },
  { name: 'OPTIONS of everything', bytes: () => `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, status: 404 },
  {
    name: 'the same length twice',
    bytes: () => posted('Content-Length: 5\r\nContent-Length: 5\r\n', 'abcde'),
    status: 400,
  },
  { name: 'two lengths in one field', bytes: () => posted('Content-Length: 5, 5\r\n', 'abcde'), status: 400 },
  { name: 'a length with a plus', bytes: () => posted('Content-Length: +5\r\n', 'abcde'), status: 400 },
  { name: 'a length in hexadecimal', bytes: () => posted('Content-Length: 0x5\r\n', 'abcde'), status: 400 },
  { name: 'a length with a blank within', bytes: () => posted('Content-Length: 1 0\r\n', 'abcde'), status: 400 },
  { name: 'an empty length', bytes: () => posted('Content-Length: \r\n', 'abcde'), status: 400 },
  { name: 'a folded length', bytes: () => posted('Content-Length:\r\n 5\r\n', 'abcde'), status: 400 },
  { name: 'a blank before the colon of a length', bytes: () => posted('Content-Length : 5\r\n', 'abcde'), status: 400 },
  { name: 'a folded field', bytes: () => `GET / HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`, status: 400 },
  { name: 'a folded first field', bytes: () => `GET / HTTP/1.1\r\n Host: tidegate.test\r\n\r\n`, status: 400 },
  {
    name: 'chunked with a tab before',
    bytes: () => smuggled('Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n'),
    status: 400,
  },
  { name: 'chunked twice', bytes: () => smuggled('Transfer-Encoding: chunked, chunked\r\n'), status: 400 },
  {
    name: 'chunked in two fields',
    bytes: () => smuggled('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n'),
    status: 400,
  },
  { name: 'chunked in quotes', bytes: () => smuggled('Transfer-Encoding: "chunked"\r\n'), status: 400 },
  { name: 'chunked with a vertical tab', bytes: () => smuggled('Transfer-Encoding: \vchunked\r\n'), status: 400 },
  { name: 'chunked with a parameter', bytes: () => smuggled('Transfer-Encoding: chunked;q=1\r\n'), status: 400 },
  {
    name: 'a blank before the colon of chunked',
    bytes: () => smuggled('Transfer-Encoding : chunked\r\n'),
    status: 400,
  },
  { name: 'a chunk size with a sign', bytes: () => chunked('+5\r\nabcde\r\n0\r\n\r\n'), status: 400 },
  { name: 'a chunk size in 0x', bytes: () => chunked('0x5\r\nabcde\r\n0\r\n\r\n'), status: 400 },
  { name: 'a chunk size beyond any number', bytes: () => chunked(`${'f'.repeat(17)}\r\nabcde\r\n`), status: 400 },
  {
    name: 'a chunk longer than its size',
    bytes: () => chunked('3\r\nabcde\r\n0\r\n\r\n'),
    status: 400,
    isInBody: true,
  },
  {
    name: 'a chunk that ends in a bare LF',
    bytes: () => chunked('5\r\nabcde\n0\r\n\r\n'),
    status: 400,
    isInBody: true,
  },
]

function withBody(start: string, contentType: string, body: string): string {
  return `${start} HTTP/1.1\r\n${HOST}Content-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

/** Request smuggling: two parsers would see this request's end at different places, with another request inside. */
function smuggled(lines: string): string {
  return `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}${lines}\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n${HOST}\r\n`
}

function posted(lines: string, body: string): string {
  return `POST /oauth2/token HTTP/1.1\r\n${HOST}${FORM}${lines}\r\n${body}`
}

function chunked(chunks: string): string {
  return posted('Transfer-Encoding: chunked\r\n', chunks)
}

/** The names of the cases. */
export const HEAD_CASES: readonly string[] = HEADS.map(({ name }) => name)

/**
 * Sends one case on its own connection, and throws when the response is wrong, or when bytes after the fault were read
 * as a second request.
 */
export async function runHeadCase(field: AttackContext, index: number): Promise<void> {
  const { name, bytes, status, isInBody = false } = HEADS[index] as Head
  const sent = bytes(field)
  const peer = await RawPeer.connect(field.stream)
  try {
    peer.send(sent)
    await peer.until('an answer or an end', () => peer.hasEnded || readAnswer(peer.received) !== undefined)
    const answer = readAnswer(peer.received)
    if (isInBody) demand(answer?.status, status, name)
    else checkAnswer(answer, status, `${name}: ${sent.toString()}`)
    if (answer?.headers.get('connection') !== 'close') return
    await peer.untilEnded()
    demand(peer.received.toString('latin1').split('HTTP/1.1 ').length - 1, 1, `answers to ${name}`)
  } finally {
    peer.destroy()
  }
}

export const httpHeads: Family = {
  name: 'HTTP heads',
  share: 0.06,
  async run({ field, serial }) {
    await runHeadCase(field, serial % HEADS.length)
    return 1
  },
}
