/** The versions and systems on which several processes can listen to one port. */
import { expect, test } from 'vitest'
import { canSharePorts } from '../../../src/platform/http/shared-port.ts'

test.each([
  ['20.20.2', 'linux', false],
  ['22.11.9', 'linux', false],
  ['22.12.0', 'linux', true],
  ['23.0.0', 'linux', false],
  ['23.1.0', 'linux', true],
  ['24.0.0', 'freebsd', true],
  ['24.0.0', 'darwin', false],
  ['24.0.0', 'win32', false],
])('processes on Node.js %s and %s share a port: %s', (version, system, expected) => {
  expect(canSharePorts(version, system)).toBe(expected)
})
