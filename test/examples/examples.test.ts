/**
 * Every program in `examples/` run against the built service, over TCP and TLS, with the clients it was written for:
 * Python, curl, wscat, Node and Chromium. A missing program is skipped by name; where CI is `true` it fails.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endExamples } from '../support/foreign-programs.ts'
import { ensureBuilt } from '../support/running-service.ts'
import { browserSuite } from './browser-suite.ts'
import { curlSuite } from './curl-suite.ts'
import { nodeSuite } from './node-suite.ts'
import { pythonSuite } from './python-suite.ts'
import { restSuite } from './rest-suite.ts'
import { restartSuite } from './restart-suite.ts'
import { revocationSuite } from './revocation-suite.ts'
import { ExampleTargets, isLong, TRANSPORTS } from './services.ts'

let started: ExampleTargets | undefined
const targets = (): ExampleTargets => {
  if (started === undefined) throw new Error('the services did not start')
  return started
}

beforeAll(async () => {
  ensureBuilt()
  started = await ExampleTargets.start()
})

afterAll(async () => {
  endExamples()
  await started?.stop()
})

nodeSuite(targets)
pythonSuite(targets)
curlSuite(targets)
browserSuite(targets)
restSuite(targets)
describe('the service', () => {
  revocationSuite(targets)
  if (isLong) restartSuite(targets)

  it('the service has logged no token and no error during these tests', () => {
    const texts = targets().written()
    // A restart makes one more.
    expect(texts).toHaveLength(TRANSPORTS.length + (isLong ? 1 : 0))
    for (const text of texts) {
      expect(text).toContain('connection opened')
      expect(text).not.toMatch(/eyJ[\w-]{8}|"level":"error"/)
    }
  })
})
