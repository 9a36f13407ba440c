/**
 * Records venues' messages, verbatim, and plays them to their connectors again (docs/how-to/adding-a-venue.md):
 *
 *     node --import tsx test/support/raw-recordings/run.ts record FILE VENUE...
 *     node --import tsx test/support/raw-recordings/run.ts play FILE [SPEED]
 *
 * Both print the setting with which a service reads from here. Ctrl-C ends them.
 */
import { createSystemClock } from '../../../src/platform/base/clock.ts'
import type { VenueAddresses } from '../../../src/streaming/sources/venues/venue.ts'
import { VENUE_NAMES, VENUES, type VenueName } from '../../../src/streaming/sources/venues/venues.ts'
import { readRawEvents, readRawHeader } from './raw-file.ts'
import { startRawVenues } from './raw-player.ts'
import { startRawRecorder } from './raw-recorder.ts'

function showSetting(addresses: ReadonlyMap<string, VenueAddresses>): void {
  const feeds = [...addresses].map(([kind, { url, restUrl }]) => [kind, { kind, url, rest_url: restUrl }])
  console.log(`--feeds '${JSON.stringify(Object.fromEntries(feeds))}'`)
}

async function record(file: string, names: readonly string[]): Promise<void> {
  const unknown = names.find((name) => !VENUE_NAMES.includes(name as VenueName))
  if (names.length === 0 || unknown !== undefined)
    throw new Error(`pass venues of ${VENUE_NAMES.join(', ')}${unknown === undefined ? '' : `, not ${unknown}`}`)
  const venues = new Map(names.map((name) => [name, VENUES[name as VenueName].exchanges[0]]))
  const recorder = await startRawRecorder(file, venues, (error) => {
    console.error(`${file} ends here: ${error.message}`)
    process.exit(1)
  })
  showSetting(recorder.addresses)
  await new Promise((resolve) => process.once('SIGINT', resolve))
  await recorder.stop()
  console.log(`${file}: ${recorder.eventCount} events`)
}

async function play(file: string, speed: number): Promise<void> {
  if (!(speed > 0)) throw new Error('SPEED must be a number above 0')
  const { venues } = await readRawHeader(file)
  const player = await startRawVenues({
    venues,
    events: readRawEvents(file),
    speed,
    clock: createSystemClock(),
    onDifference: ({ venue, kind, path = '' }) =>
      console.error(`${venue}: the connector did not do what it did in the recording: ${kind} ${path}`),
  })
  showSetting(player.addresses)
  await player.play()
  console.log(`${file} has ended`)
  await player.close()
}

const [verb, file, ...rest] = process.argv.slice(2)
if (verb === 'record' && file !== undefined) await record(file, rest)
else if (verb === 'play' && file !== undefined) await play(file, Number(rest[0] ?? 1))
else throw new Error('usage: record FILE VENUE... | play FILE [SPEED]')
