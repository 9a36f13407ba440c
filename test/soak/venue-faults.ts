/** What happens to the venues in a soak: one fault at a time, drawn by a seed, at one venue. */
import type { Random } from '../support/random.ts'
import type { FrameFault } from '../support/venues/faults.ts'
import type { VenueServer } from '../support/venues/server.ts'

export interface SoakVenue {
  readonly name: string
  readonly server: VenueServer
  readonly bookChannel: string
  readonly tradeChannel: string
  /** Symbols whose books move so often that a fault among their frames shows soon. */
  readonly busySymbols: readonly string[]
}

export interface SoakFault {
  readonly venue: string
  readonly what: string
  /** The symbol among whose frames it is, if it is there. */
  readonly symbol?: string
}

type Fault = (venue: SoakVenue, random: Random) => Omit<SoakFault, 'venue'>

const FLAPS = 10
const FLAP_MILLISECONDS = 1_000
const REFUSED_MILLISECONDS = 5_000

/** Does something to one of the venues, and says what. */
export function doFault(venues: readonly SoakVenue[], random: Random): SoakFault {
  const venue = random.pick(venues)
  const faults = [
    ...BOOK_FAULTS,
    ...FRAME_FAULTS,
    ...CONNECTION_FAULTS,
    ...(venue.name === 'binance' ? HTTP_FAULTS : [cutInSnapshot]),
  ]
  return { venue: venue.name, ...random.pick(faults)(venue, random) }
}

function onBook(kind: FrameFault): Fault {
  return (venue, random) => {
    const symbol = random.pick(venue.busySymbols)
    venue.server.faults.arm({ kind, symbol, channel: venue.bookChannel, variant: random.integer(2) })
    return { what: `book message ${kind}`, symbol }
  }
}

function onTrades(kind: FrameFault): Fault {
  return ({ server, busySymbols, tradeChannel }, random) => {
    const symbol = random.pick(busySymbols)
    server.faults.arm({ kind, symbol, channel: tradeChannel })
    return { what: `trade ${kind}`, symbol }
  }
}

const BOOK_FAULTS: readonly Fault[] = [onBook('dropped'), onBook('reordered'), onBook('dropped'), onBook('reordered')]
const FRAME_FAULTS: readonly Fault[] = [
  onBook('doubled'),
  onBook('corrupted'),
  onTrades('dropped'),
  onTrades('doubled'),
  onTrades('reordered'),
]

const CONNECTION_FAULTS: readonly Fault[] = [
  ({ server }) => {
    server.disconnectAll()
    return { what: 'disconnected' }
  },
  ({ server }, random) => {
    server.disconnectAll()
    const frames = 1 + random.integer(100)
    for (const track of server.tracks.values()) track.playUnseen(frames)
    return { what: `disconnected while ${frames} messages a symbol went by` }
  },
  ({ server }) => {
    server.closeAll(1008, 'rate limit exceeded')
    return { what: 'closed for a limit' }
  },
  ({ server }) => {
    server.silenceAll()
    return { what: 'silent' }
  },
  ({ server }) => {
    server.abandonAll()
    return { what: 'half-open' }
  },
  ({ server }) => {
    server.handshakeFaults.push(503, 429, 0)
    server.disconnectAll()
    return { what: 'handshakes refused' }
  },
  ({ server, busySymbols }, random) => {
    const symbol = random.pick(busySymbols)
    server.refused.add(symbol)
    server.disconnectAll()
    setTimeout(() => server.refused.delete(symbol), REFUSED_MILLISECONDS)
    return { what: 'subscription refused', symbol }
  },
  ({ server }) => {
    let flaps = 0
    const flapping = setInterval(() => {
      server.disconnectAll()
      flaps += 1
      if (flaps === FLAPS) clearInterval(flapping)
    }, FLAP_MILLISECONDS)
    return { what: `disconnected every second, ${FLAPS} times` }
  },
]

const HTTP_FAULTS: readonly Fault[] = [
  { status: 429, body: '{"code":-1003,"msg":"Too many requests."}', headers: { 'retry-after': '3' } },
  { status: 418, body: '{"code":-1003,"msg":"Banned."}', headers: { 'retry-after': '5' } },
  { status: 500, body: 'oops' },
  { status: 200, body: '{"lastUpdateId":1,"bids":[],"asks":[]}', isStuck: true },
].map((answer) => ({ server }) => {
  server.httpFaults.push(answer, answer, answer)
  server.disconnectAll()
  return { what: `HTTP answered ${answer.isStuck === true ? 'by half' : answer.status} three times` }
})

function cutInSnapshot({ server }: SoakVenue): { what: string } {
  server.cutNextBeginning()
  server.disconnectAll()
  return { what: 'disconnected, then again in the middle of the first snapshot' }
}
