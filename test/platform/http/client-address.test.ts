import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { addressBlock, createClientAddress, isProxyRange } from '../../../src/platform/http/client-address.ts'

function addressOf(trusted: readonly string[], peer: string | undefined, forwarded?: string): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return createClientAddress(trusted)({ headers, socket: { remoteAddress: peer } } as unknown as IncomingMessage)
}

describe('the client address', () => {
  it.each([
    ['no proxy is trusted: the peer', [], '198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['a peer that is not trusted is not believed', ['10.0.0.0/8'], '198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['a trusted peer is believed', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a trusted peer that names no client is the client', ['10.0.0.0/8'], '10.1.2.3', undefined, '10.1.2.3'],
    ['an empty field names no client', ['10.0.0.0/8'], '10.1.2.3', ' , ,', '10.1.2.3'],
    [
      'what the client itself forged stands left of it',
      ['10.0.0.0/8'],
      '10.1.2.3',
      '1.2.3.4, 203.0.113.9',
      '203.0.113.9',
    ],
    [
      'several trusted hops',
      ['10.0.0.0/8', '192.0.2.7'],
      '10.1.2.3',
      '1.1.1.1, 203.0.113.9,192.0.2.7, 10.9.9.9',
      '203.0.113.9',
    ],
    [
      'a forged trusted hop left of the client',
      ['10.0.0.0/8'],
      '10.1.2.3',
      '1.2.3.4, 10.0.0.1, 203.0.113.9',
      '203.0.113.9',
    ],
    ['only trusted hops: the farthest', ['10.0.0.0/8'], '10.1.2.3', '10.0.0.2, 10.0.0.1', '10.0.0.2'],
    ['garbage from a trusted hop: the last known', ['10.0.0.0/8'], '10.1.2.3', '1.2.3.4, <script>', '10.1.2.3'],
    ['garbage farther out', ['10.0.0.0/8'], '10.1.2.3', 'unknown, 10.0.0.1', '10.0.0.1'],
    ['an obfuscated name', ['10.0.0.0/8'], '10.1.2.3', '_hidden', '10.1.2.3'],
    ['numbers that are no address', ['10.0.0.0/8'], '10.1.2.3', '1.2.3.999', '10.1.2.3'],
    ['a port', ['10.0.0.0/8'], '10.1.2.3', '203.0.113.9:4711, 10.0.0.1:80', '203.0.113.9'],
    ['IPv6 with a port', ['10.0.0.0/8'], '10.1.2.3', '[2001:db8::1]:4711', '2001:db8::1'],
    ['a mapped peer', ['10.0.0.0/8'], '::ffff:10.1.2.3', '::ffff:203.0.113.9', '203.0.113.9'],
    ['a mapped peer that is not trusted', [], '::ffff:198.51.100.1', undefined, '198.51.100.1'],
    ['names of ranges', ['loopback', 'uniquelocal'], '::1', '2001:db8::1, fd00::1', '2001:db8::1'],
  ] as const)('the client address is found with %s', (_case, trusted, peer, forwarded, expected) => {
    expect(addressOf(trusted, peer, forwarded)).toBe(expected)
  })

  it('the client address of a socket that is gone is unknown, whoever is trusted', () => {
    expect(addressOf(['loopback'], undefined, '1.2.3.4')).toBe('unknown')
  })

  it('the client address is found in a head full of hops at little cost, whoever is trusted', () => {
    const hops = `${'10.0.0.1,'.repeat(50_000)}10.0.0.2`
    const repetitions = 50
    const before = process.cpuUsage()
    for (let count = 0; count < repetitions; count++) {
      expect(addressOf(['10.0.0.0/8'], '10.1.2.3', hops)).toBe('10.0.0.1')
      expect(addressOf([], '10.1.2.3', hops)).toBe('10.1.2.3')
    }
    const { user, system } = process.cpuUsage(before)
    // Milliseconds each; 300 when every hop was looked at.
    expect((user + system) / 1_000 / repetitions).toBeLessThan(20)
  })
})

describe('a block of addresses', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['unknown', 'unknown'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3::192.0.2.1', '1:2:3:0::/64'],
  ])('a block of addresses of %s is %s', (address, block) => {
    expect(addressBlock(address)).toBe(block)
  })
})

describe('a trusted range', () => {
  it.each(['127.0.0.1', '10.0.0.0/8', '10.0.0.0/255.0.0.0', 'fd00::/8', '::1', 'loopback', 'linklocal', 'uniquelocal'])(
    'a trusted range is %s',
    (text) => expect(isProxyRange(text)).toBe(true),
  )
  it.each(['', 'localhost', '10.0.0.0/33', '10.0.0.0/0', '10.0.0.0/x', '*', 'a, b', '1.2.3', 'constructor'])(
    'a trusted range is not %j',
    (text) => expect(isProxyRange(text)).toBe(false),
  )
})
