/** Over which connections the operator listener takes passwords: each way in which a request may have come. */
import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { channelOf, isOwnOrigin } from '../../../src/access/operators/channel.ts'

const PROXY = '192.0.2.9'
const HTTPS = 'https://operator.example'

/** @param peer its address, or `TLS` */
function requestOf(peer: string, headers: Readonly<Record<string, string | undefined>>): IncomingMessage {
  const socket = peer === 'TLS' ? { encrypted: true } : { remoteAddress: peer }
  return { socket, headers: { host: '127.0.0.1:9090', ...headers } } as unknown as IncomingMessage
}

it.each([
  ['TLS', 'TLS', { 'x-forwarded-for': '192.0.2.1' }, '', 'encrypted'],
  ['this machine', '127.0.0.1', {}, '', 'local'],
  ['this machine, with a name that an attacker may point to it', '127.0.0.1', { host: 'attacker.example' }, '', 'open'],
  ['another machine, with a loopback name', '192.0.2.1', {}, '', 'open'],
  ['a trusted proxy', PROXY, { 'x-forwarded-for': '192.0.2.1' }, HTTPS, 'encrypted'],
  ['a trusted proxy that got it in clear', PROXY, { 'x-forwarded-proto': 'http' }, HTTPS, 'open'],
  ['a trusted proxy without an https address', PROXY, { via: '1.1 proxy' }, 'http://operator.example', 'open'],
  ['an unknown proxy', '192.0.2.1', { 'x-forwarded-proto': 'https' }, HTTPS, 'open'],
  ['an unknown proxy on this machine', '127.0.0.1', { 'x-real-ip': '192.0.2.1' }, HTTPS, 'open'],
  ['an unknown proxy that sends the standard field', '127.0.0.1', { forwarded: 'for=192.0.2.1' }, '', 'open'],
])('a request over %s has its channel', (_what, peer, headers, publicUrl, expected) => {
  expect(channelOf(requestOf(peer, headers), { publicUrl, isTrustedProxy: (address) => address === PROXY })).toBe(
    expected,
  )
})

it.each([
  [undefined, HTTPS, false],
  ['http://127.0.0.1:9090', '', true],
  ['http://127.0.0.1:9091', '', false],
  [HTTPS, HTTPS, true],
  [HTTPS, `${HTTPS}/console/`, true],
  [`${HTTPS}.attacker.example`, HTTPS, false],
  [HTTPS, '', false],
])(
  'with the origin %s and operator.public_url %j, a request of the own page is recognised: %s',
  (origin, publicUrl, expected) => {
    expect(isOwnOrigin(requestOf('127.0.0.1', { origin }), { publicUrl })).toBe(expected)
  },
)
