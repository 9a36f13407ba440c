/**
 * The built service under malformed traffic of every kind, over TLS and, in the long run, over TCP, while well-behaved
 * clients use it. Each request is answered as documented or closed with the documented code, and no other client is
 * affected. `TIDEGATE_LONG=1` sends more than 10,000 each from a fresh seed. `TIDEGATE_SEED` repeats one.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificateFiles, newCertificate } from '../support/certificates.ts'
import { note } from '../support/note.ts'
import { seedOf } from '../support/property.ts'
import { ensureBuilt, temporaryFolder } from '../support/running-service.ts'
import { type AttackReport, runAttacks } from './attack-run.ts'
import { type AttackedService, startAttackedService, stopAttackedService } from './attacked-service.ts'
import { HonestClients } from './honest-clients.ts'
import { ProcessWatch } from './process-watch.ts'

const long = process.env.TIDEGATE_LONG === '1'
const SEED = seedOf(20_261_123)
const HONEST_CLIENTS = 3
const MEGABYTE = 1_048_576

/**
 * Eight concurrent attacks, each with at most a 1 MiB body, as bytes, text and values, and its reply: 40 MB. The rest
 * is garbage that the collector has not reclaimed yet.
 */
const GROWTH_BYTES_MAX = 600 * MEGABYTE
/** Heartbeats are sent every second: work that blocks the event loop longer than this delays them. */
const BEAT_GAP_MILLISECONDS_MAX = 5_000
/**
 * Files that the service may open meanwhile: its store's, whose upkeep opens many tables when it is due. Far fewer than
 * the requests.
 */
const OPEN_FILES_SLACK = 60

const CAMPAIGNS = long
  ? [
      { transport: 'TCP', requests: 12_000 },
      { transport: 'TLS', requests: 12_000 },
    ]
  : [{ transport: 'TLS', requests: 600 }]

for (const { transport, requests } of CAMPAIGNS) {
  describe(`${requests} malformed requests over ${transport}, seed ${SEED}`, () => {
    const folder = temporaryFolder()
    let siege: AttackedService
    let honest: HonestClients
    let watch: ProcessWatch
    let report: AttackReport
    let residentBefore = 0
    let openFilesBefore = 0

    beforeAll(async () => {
      ensureBuilt()
      const certificate = transport === 'TLS' ? await newCertificate('attacked') : undefined
      siege = await startAttackedService(folder.path, certificate && tlsFlags(certificate), certificate?.cert)
      const { service, field } = siege
      const options = { wsUrl: service.ws, token: field.reader.token, markets: field.markets.slice(0, 2) }
      watch = new ProcessWatch(service.pid)
      honest = await HonestClients.start(HONEST_CLIENTS, { ...options, ca: certificate?.cert, watch })
      // Loading and compiling something once is not a leak.
      await runAttacks(field, SEED + 1, 150)
      // Nor are the tables opened by the embedded store for a metrics scrape.
      await service.operator.metricsText()
      residentBefore = watch.residentBytes
      openFilesBefore = watch.openFiles
    })

    afterAll(async () => {
      watch?.stop()
      siege?.service.command.child.kill('SIGKILL')
      await siege?.service.command.result
      folder.remove()
    })

    it('malformed requests are each answered as documented, or closed with the documented code', async () => {
      const { service, field } = siege
      let isOver = false
      const campaign = runAttacks(field, SEED, requests).finally(() => {
        isOver = true
      })
      let livez = 0
      while (!isOver) {
        expect((await fetch(`${service.operator.url}/livez`)).status).toBe(200)
        livez++
        await honest.compareWithNewcomer()
      }
      report = await campaign
      note(JSON.stringify({ transport, seed: SEED, ...report, livez, newcomers: honest.newcomers }))
      expect(report.failures).toEqual([])
      expect(Object.values(report.requests).reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(requests)
    })

    it('malformed requests disturb no other connection', async () => {
      await honest.compareWithNewcomer()
      expect(honest.problems()).toEqual([])
      expect(honest.newcomers).toBeGreaterThan(1)
      expect(honest.heartbeatGapMillisecondsMax).toBeLessThan(BEAT_GAP_MILLISECONDS_MAX)
    })

    it('malformed requests leave no connection, no open file and no memory behind', async () => {
      const { operator } = siege.service
      await expect.poll(() => operator.metric('tidegate_connections')).toBe(HONEST_CLIENTS)
      const openFilesMax = openFilesBefore + OPEN_FILES_SLACK
      await expect.poll(() => watch.openFiles).toBeLessThanOrEqual(openFilesMax)
      const megabytes = (bytes: number) => Math.round(bytes / MEGABYTE)
      note(
        JSON.stringify({
          residentMegabytes: [residentBefore, watch.residentBytesMax, watch.residentBytes].map(megabytes),
          openFiles: [openFilesBefore, watch.openFilesMax, watch.openFiles],
          beatGapMilliseconds: Math.round(honest.heartbeatGapMillisecondsMax),
        }),
      )
      expect(watch.samples).toBeGreaterThan(0)
      expect(watch.residentBytesMax - residentBefore).toBeLessThan(GROWTH_BYTES_MAX)
    })

    it('malformed requests do not prevent the service from stopping, without an error in its log or a secret in its output', async () => {
      watch.stop()
      await honest.close()
      expect(await stopAttackedService(siege)).toEqual([])
    })
  })
}

function tlsFlags(certificate: Awaited<ReturnType<typeof newCertificate>>) {
  const { certFile, keyFile } = certificateFiles(certificate)
  return { 'http.tls.cert_file': certFile, 'http.tls.key_file': keyFile }
}
