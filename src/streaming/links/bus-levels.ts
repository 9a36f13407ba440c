/** Encodes levels, and each venue's share in them, as bytes in bus messages. Pure. */
import { ASK, type Attribution, BID, type LevelChange, type LevelVenues, type Side } from '../market/event.ts'
import { BusFormatError, type ByteReader as Reader, type ByteWriter as Writer } from './bus-bytes.ts'

export function writeLevels(writer: Writer, levels: readonly LevelChange[]): void {
  writer.integer(levels.length)
  for (const { side, price, amount } of levels) {
    writer.byte(side)
    writer.integer(price)
    writer.scaled(amount)
  }
}

export function readLevels(reader: Reader): LevelChange[] {
  return reader.list(() => ({ side: readSide(reader), price: reader.integer(), amount: reader.scaled() }))
}

function readSide(reader: Reader): Side {
  const side = reader.byte()
  if (side !== BID && side !== ASK) throw new BusFormatError('a level is of no side')
  return side
}

/** Attribution kinds. */
const ATTRIBUTIONS = ['only', 'all', 'some'] as const

/** The venue names come first. The levels refer to them by index. */
export function writeAttribution(writer: Writer, attribution: Attribution): void {
  writer.byte(ATTRIBUTIONS.indexOf(attribution.type))
  if (attribution.type === 'only') {
    writer.text(attribution.venue)
    return
  }
  const places = new Map<string, number>()
  for (const { venues } of attribution.levels) {
    for (const [venue] of venues) if (!places.has(venue)) places.set(venue, places.size)
  }
  writer.integer(places.size)
  for (const venue of places.keys()) writer.text(venue)
  writer.integer(attribution.levels.length)
  for (const { side, price, venues } of attribution.levels) {
    writer.byte(side)
    writer.integer(price)
    writer.integer(venues.length)
    for (const [venue, amount] of venues) {
      writer.integer(places.get(venue) as number)
      writer.scaled(amount)
    }
  }
}

export function readAttribution(reader: Reader): Attribution {
  const type = ATTRIBUTIONS[reader.byte()]
  if (type === undefined) throw new BusFormatError('there is no such attribution kind')
  if (type === 'only') return { type, venue: reader.text() }
  const names = reader.list(() => reader.text())
  const levels = reader.list((): LevelVenues => {
    const side = readSide(reader)
    const price = reader.integer()
    const venues = reader.list(() => {
      const venue = names[reader.integer()]
      if (venue === undefined) throw new BusFormatError('a level is of no venue')
      return [venue, reader.scaled()] as const
    })
    return { side, price, venues }
  })
  return { type, levels }
}
